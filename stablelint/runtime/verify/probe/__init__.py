"""The probe: how operands are seen while the user's command runs.

What runs in the user's process is here. `install` and `transform` need the standard library alone and are
loaded at start-up; `recorder` and `watch` need torch and are loaded once the command itself has imported it.
"""
