"""Where two traces part, and why: alignment, growth of the error, causes by name."""
