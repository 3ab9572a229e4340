"""Whether the closed form, the model in NumPyro, the draws and the intervals say the same of one data set."""
