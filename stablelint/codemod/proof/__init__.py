"""Whether a rewrite leaves the program the same."""
