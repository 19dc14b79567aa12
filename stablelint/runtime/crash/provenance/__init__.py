"""Where what failed came from: its values, its dtype, its device, and where its graph was lost."""
