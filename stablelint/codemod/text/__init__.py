"""The text of a file: positions, tree, the law of a rewrite, edits, diffs, and writing them."""
