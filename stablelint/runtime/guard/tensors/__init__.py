"""What is measured, named, kept and put back of tensors and random generators, on one rank or several."""
