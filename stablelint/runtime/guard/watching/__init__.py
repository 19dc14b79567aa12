"""The cheap look at every step, and what it remembers so that a step can run again."""
