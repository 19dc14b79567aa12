"""The program once more, confined, with one expression edited at a time: what gets past the line that failed."""
