"""Simulated parts of the outside world, for tests only."""
