"""Verification: run the flagged expression and its fix, and compare what comes out."""
