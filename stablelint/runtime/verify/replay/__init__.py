"""Expressions on operands: evaluated, compared with their fix and with float64."""
