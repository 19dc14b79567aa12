"""What the guard tells: events, causes and fixes as plain data, and where they are written."""
