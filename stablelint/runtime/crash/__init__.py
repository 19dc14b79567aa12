"""Errors explained: what an exception of torch says in the words of the program that it ended.

The frames of the traceback still hold the operands; names, shapes and origins are read from them. What cannot be
known is not said.
"""
