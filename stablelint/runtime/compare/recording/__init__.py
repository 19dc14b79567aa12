"""What runs inside a recorded process: the dispatch mode, its digests and the trace that it writes."""
