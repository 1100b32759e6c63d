"""The calls that the methods of a client make, without a connection."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from rotting.server.client.client import RemoteBandit
from rotting.server.client.methods import ServiceMethods
from rotting.server.client.retries import ClientCall

_METHODS = ServiceMethods()
create, bandits = partial(ServiceMethods.create, _METHODS), partial(ServiceMethods.bandits, _METHODS)


class _RecordedError(Exception):
    """Raised to leave a method once its call is recorded."""


def call_of(use: Callable[[RemoteBandit], object], name: str = "songs") -> ClientCall[Any]:
    """Return the call that a method of a remote bandit makes.

    Example:
        >>> call_of(lambda bandit: bandit.explain()).request.path
        '/v1/bandits/songs/explain'
    """
    calls: list[ClientCall[Any]] = []

    def send(call: ClientCall[Any]) -> Any:
        calls.append(call)
        raise _RecordedError

    with suppress(_RecordedError):
        use(RemoteBandit(name, send))
    return calls[0]
