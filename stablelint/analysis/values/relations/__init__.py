"""What operands that are made of one another tell: of a result, of its order, and of where it is 0."""
