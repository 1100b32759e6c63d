"""A whole log, read from its first event to its last: is it what was written, and does it make sense?"""

from collections.abc import Callable
from dataclasses import dataclass

from rotting.errors import StoreDamagedError
from rotting.store.protocol import Event, Store

Replay = Callable[[Event], str]
"""Plays an event again, after those before it; returns what differs in a sentence, or an empty string."""


@dataclass(frozen=True)
class Verification:
    """What was found in a log."""

    events: int
    """How many events were read: all of them, or those before a damage."""
    problems: tuple[str, ...]


def verify(store: Store, replay: Replay | None = None) -> Verification:
    """Read the whole log.

    Every event must be what was written and follow the one before it, no epoch may be lower than one before it, and every page
    and every snapshot must be intact.

    Args:
        store: any store; a reader is enough.
        replay: plays each event again, in order.

    Example:
        >>> from rotting.store.memory import MemoryStore
        >>> store = MemoryStore()
        >>> store.add_bandit("songs", {})
        >>> store.append([("songs", {"decided": arm}) for arm in "abx"])
        3
        >>> verify(store, lambda event: "" if event.payload["decided"] in "ab" else "no such arm")
        Verification(events=3, problems=('event 3: no such arm',))
    """
    problems = store.damages()
    events, epoch = 0, 0
    try:
        for event in store.read():
            events = event.number
            if event.epoch < epoch:
                problems.append(f"event {event.number}: its epoch is {event.epoch}, after one of {epoch}")
            epoch = event.epoch
            said = "" if replay is None else replay(event)
            if said:
                problems.append(f"event {event.number}: {said}")
        if epoch > store.epoch:
            problems.append(f"event {events}: its epoch is {epoch}, and the latest writer had {store.epoch}")
    except StoreDamagedError as error:
        problems.append(str(error))
    return Verification(events, tuple(problems))
