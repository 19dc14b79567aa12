"""A step run once more, operation by operation, with everything else left as it was."""
