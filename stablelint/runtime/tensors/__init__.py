"""What is measured, named and kept of tensors and generators."""
