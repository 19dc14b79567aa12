"""Two sets of tensors, read from files or at hand, within tolerances."""
