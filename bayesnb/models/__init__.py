"""Models of whole rows: naive Bayes, and averages over one-dependence models."""
