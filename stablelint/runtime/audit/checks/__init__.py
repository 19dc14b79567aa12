"""The checks, one file a family; found by walking."""
