"""The parts of a matrix decomposition, by the name of the field or by their place in the tuple."""

from __future__ import annotations

PARTS_OF = {
    "eigh": ("eigenvalues", "eigenvectors"),
    "eig": ("eigenvalues", "eigenvectors"),
    **dict.fromkeys(("svd", "thin_svd"), ("singular_vectors", "singular_values", "singular_vectors")),
    "qr": ("orthonormal", "triangular"),
}
FIELDS_OF = {
    "eigh": {"eigenvalues": 0, "eigenvectors": 1},
    "eig": {"eigenvalues": 0, "eigenvectors": 1},
    "svd": {"U": 0, "S": 1, "Vh": 2},
    "thin_svd": {"U": 0, "S": 1, "V": 2},
    "qr": {"Q": 0, "R": 1},
}
PARTS = frozenset(name for names in PARTS_OF.values() for name in names)
UNIT_VECTORS = frozenset({"eigenvectors", "singular_vectors", "orthonormal"})
