"""Where a bound or a name belongs, and what a rewrite leaves behind."""
