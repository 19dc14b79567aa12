"""Rewriting source text: fixes, their edits, and writing them."""
