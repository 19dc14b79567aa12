"""Floating-point formats, the interval lattice, and the range of each operation (standard library only)."""
