"""Norms of rows and columns of what a decomposition makes orthonormal."""

import pytest

from tests.analysis.support import unmet


def divided(vectors: str) -> list[tuple[int, str]]:
    """What is open in `u / u.norm(…)`, with `u` and the arguments of the norm as `vectors` says: `u, dim=-1`."""
    taken, _, along = vectors.partition(";")
    return unmet(f"def f(a: torch.Tensor, i: int, m):\n    u = {taken}\n    return u / u.norm({along})\n")


@pytest.mark.parametrize(
    "vectors",
    [
        "torch.linalg.eigh(a)[1][:, -1]",
        "torch.linalg.eigh(a)[1][i]",
        "torch.linalg.eigh(a)[1][..., 0];dim=-1, keepdim=True",
        "torch.linalg.eigh(a)[1].index_select(1, m)",
        "torch.linalg.eigh(a)[1][:, torch.linalg.eigh(a)[0].argmax(-1)]",
        "torch.gather(torch.linalg.eigh(a)[1], 1, torch.linalg.eigh(a)[0].argmax().reshape(1, 1).expand(3, 1))",
        "torch.linalg.svd(a)[2][-1]",
        "torch.linalg.svd(a, full_matrices=False).Vh[..., -1, :]",
        "torch.svd(a)[2][..., -1]",
        "torch.linalg.qr(a)[0][..., 0]",
    ],
)
def test_a_whole_unit_vector_has_a_length(vectors: str) -> None:
    assert divided(vectors) == []


@pytest.mark.parametrize(
    "vectors",
    [
        "torch.linalg.eigh(a)[1][i, 0]",  # one element
        "torch.linalg.eigh(a)[1][:, :2];dim=-1",  # pieces of rows
        "torch.linalg.eigh(a)[1].gather(1, m)",  # an element of each row
        "torch.linalg.svd(a, full_matrices=False).Vh[..., -1]",  # a column of fewer rows than columns
        "torch.svd(a)[2][-1]",
        "torch.linalg.qr(a)[0][..., 0, :]",
        "torch.linalg.svd(a, full_matrices=False).U.mT[..., 0]",
    ],
)
def test_a_piece_of_one_may_have_none(vectors: str) -> None:
    assert divided(vectors) == [(3, "SL102")]
