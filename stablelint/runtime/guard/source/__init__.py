"""User code: which frames are the user's, what text they run, and stretches of it that run again."""
