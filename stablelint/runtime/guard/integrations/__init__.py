"""The guard as a callback of training frameworks; each module needs its framework, none is imported here."""
