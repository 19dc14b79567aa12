"""Programs that are drawn at random, and the proofs in them that running them falsifies."""
