"""Verifies a log: every event is what was written, and replaying it gives the same choices."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rotting.errors import StoreDamagedError
from rotting.store.protocol import Event, Store


class Replay(Protocol):
    """Plays a log again and finds what differs."""

    notes: list[str]
    """Differences that are no damage, such as decisions of other code; complete after `finish`."""

    def play(self, event: Event) -> list[str]:
        """Play an event again, after those before it; return a sentence for each problem."""

    def finish(self) -> list[str]:
        """Return the problems that are found after the last event."""


@dataclass(frozen=True)
class Verification:
    """What was found in a log."""

    events: int
    """How many events were read: all of them, or those before a damage."""
    problems: tuple[str, ...]
    """A sentence for each damage."""
    notes: tuple[str, ...] = ()
    """Which code wrote which epochs, and what it decided otherwise, if it is not the present code."""


def verify(store: Store, replay: Replay | None = None, progress: Callable[[], object] | None = None) -> Verification:
    """Read the whole log.

    Every event must be what was written and follow the one before it, no epoch may be lower than one before it, and every page
    and every snapshot must be intact.

    Args:
        store: any store; a reader is enough.
        replay: plays each event again, in order; see `rotting.store.durable.replaying`.
        progress: called after each event.

    Example:
        >>> from rotting.store.memory import MemoryStore
        >>> store = MemoryStore()
        >>> store.append([("songs", {"decided": arm}) for arm in "ab"], bandits=[("songs", {})])
        2
        >>> verify(store)
        Verification(events=2, problems=(), notes=())
    """
    problems = store.damages()
    events, epoch = 0, 0
    try:
        for event in store.read():
            events = event.number
            if event.epoch < epoch:
                problems.append(f"event {event.number}: its epoch is {event.epoch}, after one of {epoch}")
            epoch = event.epoch
            if replay is not None:
                problems += replay.play(event)
            if progress is not None:
                progress()
        if epoch > store.epoch:
            problems.append(f"event {events}: its epoch is {epoch}, and the latest writer had {store.epoch}")
        if replay is not None:
            problems += replay.finish()
    except StoreDamagedError as error:
        problems.append(str(error))
    return Verification(events, tuple(problems), () if replay is None else tuple(replay.notes))
