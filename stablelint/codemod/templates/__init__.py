"""Putting operands into a template, in the form and spelling of the place."""
