"""Matchers of the family `training`: loops, modules, data sets and what flows through them."""
