"""What a rule page cannot say as a pattern: functions from what was seen in a function to sites."""
