"""What is known of a value: the graph, its ranges and grounds, and where masks and selections come from."""
