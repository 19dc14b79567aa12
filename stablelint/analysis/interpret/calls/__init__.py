"""Calls: whose function it is, and what it does with its arguments."""
