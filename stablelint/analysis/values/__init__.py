"""What is known of a value: the graph, its ranges and attainability, and where masks and selections come from."""
