"""Products and decompositions of matrices."""

from __future__ import annotations

OPERATIONS = """
matmul          input,other               torch.matmul .matmul torch.mm .mm torch.bmm .bmm torch.dot .dot torch.mv .mv torch.inner .inner L.matmul +product +keep-sort +saves-operand +narrowed +of-arrays +grow
addmm           input,mat1,mat2,beta,alpha torch.addmm .addmm +fused +narrowed +grow +keep-sort
addmv           input,mat,vec,beta,alpha torch.addmv .addmv +fused +grow +keep-sort
baddbmm         input,batch1,batch2,beta,alpha torch.baddbmm .baddbmm +fused +narrowed +grow +keep-sort
outer           input,other               torch.outer .outer torch.ger .ger +grow +promote +keep-sort
einsum          equation,input,other      torch.einsum +product +keep-sort +narrowed
eigh            input                     L.eigh torch.symeig +several
eigvalsh        input                     L.eigvalsh
eig             input                     L.eig +several
eigvals         input                     L.eigvals
svd             input,full_matrices       L.svd +several
thin_svd        input,some                torch.svd .svd +several
svdvals         input                     L.svdvals +exact
qr              input                     L.qr torch.qr .qr +several
cholesky        input                     L.cholesky torch.cholesky .cholesky +floating
cholesky_inverse input                    torch.cholesky_inverse
det             input                     L.det torch.det .det +floating
logdet          input                     torch.logdet .logdet +floating
slogdet         input                     L.slogdet torch.slogdet .slogdet +several +widened
inverse         input                     L.inv torch.inverse .inverse
pinverse        input                     L.pinv torch.pinverse .pinverse
solve           input,other               L.solve
trace           input                     torch.trace .trace +keep-sort
"""
