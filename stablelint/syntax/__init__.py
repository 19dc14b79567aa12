"""Source text, names, and the spellings of operations."""
