"""The facts, found by walking: about the operand, the consequence, the context and the form."""
