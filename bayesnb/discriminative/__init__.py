"""Naive Bayes whose columns have weights, fitted to leave-one-out densities: the model, its columns, its regression."""
