"""Stores: files that keep the events of live bandits, so that a response outlives the process that gave it.

`protocol` declares what every store does, `sqlite` keeps a store in a file, `durable` opens one bandit of a store, `host`
serves all of them, and `verify` checks a whole log.
"""
