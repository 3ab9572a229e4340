"""Calibrated class probabilities: the map and its posterior, and the two calibrators that learn it."""
