"""The explainers, one file a kind of error; found by walking."""
