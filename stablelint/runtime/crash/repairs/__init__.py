"""Changes of a failed call that are tried, and seen to pass."""
