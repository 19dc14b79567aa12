"""What tells one content of a file from another."""

from __future__ import annotations

from hashlib import blake2b

NOTEBOOK = ".ipynb"
"""How the names of notebooks end."""


def digest(data: bytes) -> str:
    """The digest by which contents are compared."""
    return blake2b(data, digest_size=16).hexdigest()
