"""The interpreter: what expressions, statements and calls make of values."""
