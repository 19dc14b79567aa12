"""What operations make of values: tensors, layers, distributions, Python's own functions."""
