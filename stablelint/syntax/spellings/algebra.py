"""Products and decompositions of matrices."""

from __future__ import annotations

OPERATIONS = """
matmul          input,other               torch.matmul .matmul torch.mm .mm torch.bmm .bmm torch.dot .dot torch.mv .mv torch.inner .inner L.matmul
addmm           input,mat1,mat2,beta,alpha torch.addmm .addmm
baddbmm         input,batch1,batch2,beta,alpha torch.baddbmm .baddbmm
outer           input,other               torch.outer .outer torch.ger .ger
einsum          equation,input,other      torch.einsum
eigh            input                     L.eigh torch.symeig
eigvalsh        input                     L.eigvalsh
eig             input                     L.eig
svd             input,full_matrices       L.svd
thin_svd        input,some                torch.svd .svd
svdvals         input                     L.svdvals
qr              input                     L.qr torch.qr .qr
cholesky        input                     L.cholesky torch.cholesky .cholesky
cholesky_inverse input                    torch.cholesky_inverse
det             input                     L.det torch.det .det
logdet          input                     torch.logdet .logdet
slogdet         input                     L.slogdet torch.slogdet .slogdet
inverse         input                     L.inv torch.inverse .inverse
pinverse        input                     L.pinv torch.pinverse .pinverse
solve           input,other               L.solve
trace           input                     torch.trace .trace
"""
