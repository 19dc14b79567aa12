"""Runs of the command, with probes and with fixes, and what they leave behind."""
