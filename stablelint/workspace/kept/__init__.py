"""What is kept of a file from one check to the next."""
