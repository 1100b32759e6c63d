"""Decisions over HTTP: one process, one event loop, one writer in front of the bandits of a store.

`application` is the ASGI application, and `server` runs it on uvicorn. `routes` is the table of routes; `bandit_handlers`,
`decision_handlers` and `read_handlers` have a method for each route. `transport` runs requests under limits and deadlines,
`admission` checks tokens and rates, `committer` writes the changes of concurrent requests in one transaction, and `connections`
limits slow and greedy clients.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rotting.service.application import Application as Application

__all__ = ["Application"]


def __getattr__(name: str) -> object:
    """Import the application when it is used: the client needs none of it."""
    if name != "Application":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rotting.service.application import Application  # noqa: PLC0415

    return Application
