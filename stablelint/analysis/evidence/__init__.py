"""What speaks for a finding: facts that order, and never decide whether an obligation holds."""
