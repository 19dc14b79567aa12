"""Where a rule speaks: patterns and their obligations, the predicates of pages, what is offered and retold."""
