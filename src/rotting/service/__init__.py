"""Decisions over HTTP: one process, one event loop, one writer in front of the bandits of a store.

`server` runs it, `application` answers requests, `routes` lists them, `commits` lets concurrent requests share a transaction,
`http` speaks the protocol.
"""
