"""The language server: what `check` and `fix` know, told by an editor while a person types."""
