"""Draws from the posterior, exact and by NumPyro, and the check of one against the other."""
