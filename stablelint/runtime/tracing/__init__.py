"""How a running program is followed: hooks of steps, functions replaced for a while, the place of an operation."""
