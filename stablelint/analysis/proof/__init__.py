"""Obligations: what discharges them, as far as values, types and control flow tell."""
