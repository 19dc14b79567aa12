"""What code shows of itself: effects, names and where they get their values, the sort of its numbers."""
