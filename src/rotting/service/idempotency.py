"""Idempotency keys: a request that is repeated with its key gets the decisions of the first one.

The first response to a key is stored in the event of its last decision, as a note. Cancelling a key adds a newer note of the
same name.
"""

import functools
import json

from rotting.service import messages as m
from rotting.service.problem_documents import broken_rule
from rotting.store.host import Host
from rotting.store.hosted import Hosted
from rotting.store.protocol import Payload
from rotting.store.records import digest


class IdempotencyKey:
    """The idempotency key of a request for decisions."""

    __slots__ = ("_digest", "_host", "_hosted", "_key", "_note_name")

    def __init__(self, host: Host, hosted: Hosted, key: str, wanted: m.DecisionRequest) -> None:
        self._host, self._hosted, self._key = host, hosted, key
        self._note_name = note_name(key)
        self._digest = _request_digest(wanted)

    def first_response(self) -> bytes | None:
        """Return the response to the first request with this key, or None if the key is new."""
        note = self._host.note(self._hosted.name, self._note_name)
        if note is None:
            return None
        shown = m.encode(self._key).decode()
        if note.get("cancelled"):
            raise broken_rule("key-cancelled", "idempotency_key", "not be cancelled", self._key, got=shown)
        if note["body"] != self._digest:
            raise broken_rule("key-reused", "idempotency_key", "be new for another request", self._key, got=shown)
        return m.encode({"decisions": noted_decisions(note)})

    def note(self, response: bytes) -> Payload:
        """Return the note that stores the first response to the key in the log."""
        return {"note": self._note_name, "body": self._digest, "answer": response.decode()}


def note_name(key: str) -> str:
    """Return the name of the note of a key."""
    return f"key:{key}"


def noted_decisions(note: Payload) -> list[Payload]:
    """Return the decisions in the note of a key; older versions stored them without a response around them."""
    found: list[Payload] = json.loads(note["answer"])["decisions"] if "answer" in note else note.get("decisions", [])
    return found


def _request_digest(wanted: m.DecisionRequest) -> str:
    """Return a digest of a request: the same key must come with the same request."""
    if wanted.arms is None and wanted.without is None:
        return _count_digest(wanted.count)
    return digest(json.dumps([wanted.count, wanted.arms, wanted.without])).hex()


@functools.lru_cache(1_000)
def _count_digest(count: int) -> str:
    return digest(json.dumps([count, None, None])).hex()
