"""Which spelling means which operation, and what is true of it: tables, by kind of operation.

One row an operation: canonical name, its parameters in order, its spellings, its traits. A spelling that starts with a
dot is a tensor method (its in-place form with a trailing underscore is understood); `F.`, `S.`, `L.` and `fft.` stand
for `torch.nn.functional.`, `torch.special.`, `torch.linalg.` and `torch.fft.`. A trait starts with a plus.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from stablelint.syntax.spellings import algebra, elementwise, networks, reductions, tensors
from stablelint.syntax.spellings.networks import MODULES

__all__ = ["MODULES", "OPERATIONS", "ORIGINS", "PREFIXES", "TRAITS"]

OPERATIONS = "".join(table.OPERATIONS for table in (elementwise, reductions, algebra, tensors, networks))
# Where values come from that no function of torch makes: names, settings, layers, parts of others.
ORIGINS = """
argument        +given +setting
attribute       +given +setting
item            +given
unknown         +given
foreign         +given
index           +pick +alias +keep-sort
part            +alias +keep-sort
bits            +alias
phi             +keep-sort
overwritten     +may-alias +keep-sort
identity        +copy +may-alias +keep-sort
linear_module   +layer +trained +saves-operand +narrowed
norm_module     +layer +trained
layer_output    +layer +trained
len             +size
shape           +size
python.sum      +total
contains        +truth +exact
"""
PREFIXES = {"F.": "torch.nn.functional.", "S.": "torch.special.", "L.": "torch.linalg.", "fft.": "torch.fft."}
TRAITS: Mapping[str, str] = MappingProxyType(
    {
        # What becomes of the elements of the operand.
        "layout": "they stand elsewhere, or more often",
        "copy": "they stay as they are",
        "cut": "they stay as they are, and their graph does not",
        "device": "they stay as they are, on a device",
        "cast": "they are rounded to another type",
        "pick": "some of them are taken, as they are",
        "alias": "the result shares their memory",
        "may-alias": "the result may share their memory",
        "join": "they stand beside those of other operands",
        "replace": "those that are asked for are replaced",
        "into": "others are written among them, and their type holds those",
        "scatter": "they are added up, or put, where an index says",
        # What is computed, element by element.
        "elementwise": "each element of one of every operand: the table of that name",
        "log": "logarithms",
        "wave": "sine and cosine",
        "odd": "functions that are 0 where the operand is, and there alone",
        "singular": "functions with a pole at 0, in their value or their gradient",
        "weigh": "-inf is as good as nothing: weights of what is given as a logarithm",
        "compare": "comparisons",
        "logic": "truth values of truth values",
        "finite-test": "tests for NaN and infinity",
        "commute": "operands may change places",
        "linear": "a straight line, where all operands but one are numbers",
        "scale": "a multiple of one operand, where the others are numbers",
        "arithmetic": "the sum, difference, product or quotient of two operands",
        "bound": "an end is put to the operand",
        "raise": "a lower end is put to the operand",
        "rectify": "what is negative becomes 0",
        "promote": "the type of the result is the widest of the operands'",
        "product": "sums of products of two operands",
        "fused": "a product of matrices is added to the first operand",
        "grow": "sums and products: large operands give what is too large for the type",
        "exponential": "operands that are not large give what is too large for the type",
        # What is computed of many elements.
        "along": "along a dimension: the table of reductions",
        "total": "sums and means",
        "add-up": "0 of nothing",
        "multiply": "products of many factors",
        "spread": "standard deviations and variances",
        "norm": "lengths of vectors",
        "extreme": "the largest or the smallest",
        "recent": "which PyTorch has had since 1.6 or later",
        "rank": "what rests on the order of elements alone",
        "reduce": "one number of many",
        "row": "all of a row sum to 1, or their exponentials do",
        "running": "totals up to each place",
        "mean-pool": "the mean of each window",
        "max-pool": "the largest of each window",
        "several": "more than one result",
        "places": "along whichever dimension, with where they stood",
        "size": "how many elements there are",
        # What the result is.
        "blank": "made to be filled",
        "filled": "of one number",
        "draw": "random",
        "grid": "laid out evenly",
        "create": "made from nothing but a size",
        "default-type": "of the default type where none is given",
        "like": "of the shape of the operand",
        "whole": "integers",
        "long": "int64, of integers and truth values of any width",
        "truth": "truth values, of no comparison",
        "floating": "of a floating-point type, whatever goes in",
        "real": "of real floating-point numbers, whatever goes in",
        "real-part": "real, also of complex numbers",
        "keep-sort": "of the sort of numbers that the first operand holds",
        "loss": "what training makes small",
        "of-classes": "a loss that asks for one of the classes, which lie along dimension 1",
        "distance": "a loss that is 0 where both operands are equal",
        "layer": "what a layer yields",
        "trained": "a parameter, or computed from one",
        "given": "handed over: nothing in sight has computed it",
        "setting": "chosen by whoever calls or configures",
        # Which values the result comes to.
        "exact": "0 and both ends of its range",
        "extent": "both ends of its range, and 0 for hardly any operand",
        "saturate": "the ends of its range, by rounding alone",
        # What else is true of it.
        "acts": "each call gives another result, or changes something",
        "of-arrays": "arrays and tables have a method of that name",
        # What autocast does to the type of the result.
        "narrowed": "it is the narrow one, whatever goes in",
        "widened": "it is float32, or wider",
        # What autograd keeps for the gradient.
        "saves-result": "the result",
        "saves-operand": "the operand",
    }
)
