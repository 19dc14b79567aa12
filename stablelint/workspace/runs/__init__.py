"""What runs have seen, kept between commands."""
