"""Where two runs part: recorded operations aligned and judged, and two sets of tensors within tolerances."""
