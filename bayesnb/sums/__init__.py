"""Sums over many rows that families are made of: by a formula, or by a compiled loop where there is much work."""
