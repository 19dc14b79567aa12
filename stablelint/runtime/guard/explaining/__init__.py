"""From an alarm to an event: the replay that shows its root, what it is called, and the proof of a fix."""
