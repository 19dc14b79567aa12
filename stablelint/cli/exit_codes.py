"""What a command's exit code says, as with ruff: 0 clean, 1 findings, 2 the tool could not do its work."""

CLEAN, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130
