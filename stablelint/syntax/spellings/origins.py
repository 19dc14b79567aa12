"""Where values come from that no function of torch makes: names, settings, layers, parts of others."""

from __future__ import annotations

ORIGINS = """
argument        +given +setting
attribute       +given +setting
item            +given
unknown         +given
foreign         +given
index           +pick +alias +keep-sort
part            +alias +keep-sort
phi             +keep-sort
overwritten     +may-alias +keep-sort
identity        +copy +may-alias
linear_module   +layer +trained +saves-operand +narrowed
norm_module     +layer +trained
layer_output    +layer +trained
len             +size
shape           +size
python.sum      +total
contains        +truth +exact
"""
