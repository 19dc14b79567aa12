"""What `verify` shows."""
