"""Stores: where the events of live bandits are kept, so that a reply outlives the process that gave it.

`protocol` says what every store does, `sqlite` keeps one in a file, `memory` one for tests, and `verify` reads a whole log and
says what is wrong with it.
"""
