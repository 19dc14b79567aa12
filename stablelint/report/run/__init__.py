"""What `run` shows."""
