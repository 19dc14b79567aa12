"""A project: its files, cache, processes, suppressions, and the pipeline through them."""
