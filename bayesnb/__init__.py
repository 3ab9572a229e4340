"""Naive Bayes with the whole posterior: closed form and NumPyro, side by side."""

__version__ = "0.1.0"
