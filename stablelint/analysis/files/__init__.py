"""Files as the analysis reads them: what they define, and how imports lead from one to another."""
