"""Simulations: policies play many runs of a problem, and their regrets are compared."""
