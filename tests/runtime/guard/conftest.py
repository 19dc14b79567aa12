# Programs to be run, one of them named as a test suite would name it.
collect_ignore = ["scenarios"]
