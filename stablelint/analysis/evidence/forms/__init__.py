"""Forms whose text alone shows how an operand goes bad, though nothing is known of its range."""
