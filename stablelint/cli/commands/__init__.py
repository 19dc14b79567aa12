"""One module a command; `cli.main` finds them by walking this folder."""
