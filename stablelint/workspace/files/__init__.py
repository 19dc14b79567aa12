"""Which files of a project are read."""
