"""What everything else stands on: special functions, draws, constraints, priors by name, pytrees, what weights mean."""
