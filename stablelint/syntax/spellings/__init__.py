"""Which spelling means which operation: tables, by kind of operation.

One row an operation: canonical name, its parameters in order, its spellings. A spelling that starts with a dot is
a tensor method (its in-place form with a trailing underscore is understood); `F.`, `S.`, `L.` and `fft.` stand for
`torch.nn.functional.`, `torch.special.`, `torch.linalg.` and `torch.fft.`.
"""

from __future__ import annotations

from stablelint.syntax.spellings import algebra, elementwise, networks, reductions, tensors
from stablelint.syntax.spellings.networks import MODULES

__all__ = ["MODULES", "OPERATIONS", "PREFIXES"]

OPERATIONS = "".join(table.OPERATIONS for table in (elementwise, reductions, algebra, tensors, networks))
PREFIXES = {
    "F.": "torch.nn.functional.",
    "S.": "torch.special.",
    "L.": "torch.linalg.",
    "fft.": "torch.fft.",
}
