"""What runs the user's code: verification and the guard. The only layer that imports torch."""
