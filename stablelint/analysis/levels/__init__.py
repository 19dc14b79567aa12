"""Which findings are worth a reader's time: the principles behind the levels, and how to weigh a broken obligation."""
