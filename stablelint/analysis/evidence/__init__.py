"""How much a finding is worth a person's time: named facts, measured weights, a calibrated confidence."""
