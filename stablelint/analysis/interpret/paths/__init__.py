"""What holds on a path: tests, defaults, context managers."""
