"""Generators of large inputs and measurements against other tools; see README.md."""
