"""Statements: assignments, branches, loops, writing in place."""
