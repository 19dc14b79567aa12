"""What `audit` shows."""
