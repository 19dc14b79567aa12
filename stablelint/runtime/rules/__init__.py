"""What a rule page claims of the numbers, put to the test in torch."""
