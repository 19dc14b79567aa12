"""Where the program stands: its frames, the expressions that they execute, text that is in no file."""
