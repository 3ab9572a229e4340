"""What follows from the posterior: features, decisions, selection."""
