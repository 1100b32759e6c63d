"""The log of every bandit in a database, and the bandits that are folds of it."""
