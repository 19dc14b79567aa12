"""The command as a child process, and what is started in each of its processes."""
