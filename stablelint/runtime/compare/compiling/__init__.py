"""Eager against compiled: every graph judged, the fault cut down to a script."""
