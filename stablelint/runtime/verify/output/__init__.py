"""What a verification leaves: plain values of a report, curves, verdicts on disk, tests."""
