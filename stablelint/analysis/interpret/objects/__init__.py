"""What names, attributes, classes and instances stand for."""
