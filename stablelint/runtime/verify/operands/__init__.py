"""Operands that nobody captured: where a contract breaks, and where all is well."""
