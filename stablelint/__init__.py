"""stablelint: a linter for the numbers in PyTorch code."""

__version__ = "0.1.0"
