"""Problem documents (RFC 9457): what is wrong with a request, with the field, the rule and the value."""

import json
import math
import re
from contextlib import suppress

from rotting.common.json_data import find_nonfinite
from rotting.errors import InvalidArgumentError, InvalidValueError, MissingExtraError, RottingError, brief

try:
    import msgspec
except ImportError as error:
    raise MissingExtraError("the service needs msgspec: pip install 'rotting[service]'") from error

KINDS: dict[str, tuple[int, str]] = {
    "bad-request": (400, "The request cannot be understood"),
    "malformed-json": (400, "The body is not JSON"),
    "unauthorized": (401, "A valid token is required"),
    "forbidden": (403, "This is not allowed"),
    "not-found": (404, "The bandit, arm or path does not exist"),
    "method-not-allowed": (405, "The method is not allowed here"),
    "bandit-differs": (409, "Another bandit has this name"),
    "key-reused": (409, "The idempotency key was used for another request"),
    "key-cancelled": (409, "The idempotency key was cancelled"),
    "key-expired": (409, "The idempotency key is older than keys are remembered"),
    "archived": (409, "The bandit is archived"),
    "not-archived": (409, "The bandit is not archived"),
    "last-arm": (409, "The last arm cannot be removed"),
    "too-large": (413, "The body is too large"),
    "unsupported-media-type": (415, "The body must be application/json"),
    "invalid-value": (422, "A value breaks a rule"),
    "too-many-requests": (429, "Too many requests"),
    "internal": (500, "The service failed"),
    "overloaded": (503, "The service is too busy"),
    "timed-out": (503, "The request took too long"),
    "stopping": (503, "The service is shutting down"),
    "outcome-unknown": (503, "The change may have been written or not"),
    "store-failed": (503, "The store cannot be used now"),
    "store-full": (507, "The store is full"),
}
"""Each kind of problem, with its status and its title."""

_EXPLAINED = 1 << 18  # longer bodies are not parsed again to say which value is wrong
_PLACE = re.compile(r"(?P<what>.*) - at `(?P<path>\$.*)`", re.DOTALL)
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<number>\d+)\]|\[\.\.\.\]")
_TYPES = {"str": "a string", "int": "a whole number", "float": "a finite number", "bool": "true or false", "null": "null"}


class ProblemDocument(msgspec.Struct, omit_defaults=True):
    """A problem document: which rule a request breaks, or why the service cannot carry it out."""

    type: str
    """The kind, as a URN: `urn:rotting:problem:invalid-value`."""
    title: str
    status: int
    detail: str
    """One sentence. It names the field, the rule and the value if the request breaks a rule."""
    field: str | None = None
    rule: str | None = None
    value: str | None = None
    """The value, shortened if it is long."""
    hint: str | None = None
    """The end of the detail, after the value: `; did you mean 'fewa'?`."""


class ProblemError(RottingError):
    """A request is refused, with a problem document as the response.

    Args:
        kind: one of `KINDS`.
        reason: the error about a field of the request, or a sentence if no field is at fault.
        headers: headers of the response, with underscores for hyphens.
    """

    def __init__(self, kind: str, reason: InvalidArgumentError | str, **headers: str) -> None:
        super().__init__(str(reason))
        self.kind = kind
        self.reason = reason
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    @property
    def status(self) -> int:
        """The status of the response."""
        return KINDS[self.kind][0]

    def body(self) -> bytes:
        """Return the document.

        Example:
            >>> document = json.loads(broken_rule("invalid-value", "count", "be 1 or more", 0).body())
            >>> document["status"], document["field"], document["rule"], document["value"]
            (422, 'count', 'be 1 or more', '0')
        """
        status, title = KINDS[self.kind]
        document = ProblemDocument(f"urn:rotting:problem:{self.kind}", title, status, _sendable(str(self.reason)))
        if isinstance(self.reason, InvalidArgumentError):
            error = self.reason
            document.field, document.rule, document.value = map(_sendable, (error.field, error.rule, error.got))
            document.hint = _sendable(error.hint) or None
        return msgspec.json.encode(document)


def broken_rule(
    kind: str, field: str, rule: str, value: object = None, *, got: str | None = None, hint: str = "", **headers: str
) -> ProblemError:
    """Return the problem that a field breaks a rule; the arguments are those of `ProblemError` and `InvalidValueError`."""
    return ProblemError(kind, InvalidValueError(field, rule, value, got, hint), **headers)


def _sendable(text: str) -> str:
    """Return a text in which unpaired surrogates, which UTF-8 cannot encode, are escaped."""
    return text.encode(errors="backslashreplace").decode()


def _shown(value: object) -> str:
    """Return a value as JSON, shortened if it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return brief(value)
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"


def _look_up(data: object, path: str) -> object:
    """Return the value at a path such as `$[0].value`; if the path does not exist, the last value on the way."""
    for step in _STEP.finditer(path):
        name, number = step["name"], step["number"]
        if isinstance(data, dict) and name in data:
            data = data[name]
        elif isinstance(data, list) and number and int(number) < len(data):
            data = data[int(number)]
        elif name or number:
            break
    return data


def _parsed(body: bytes) -> object:
    """Return a body as Python's lenient parser reads it, to explain what is wrong; None if it is too long or not JSON."""
    with suppress(ValueError, RecursionError):
        return json.loads(body) if len(body) <= _EXPLAINED else None
    return None


def of_body(error: Exception, body: bytes, whole: str = "body") -> ProblemError:
    """Return the problem with a body, or with the query (`whole`), that could not be decoded."""
    if not isinstance(error, msgspec.ValidationError):
        found = find_nonfinite(_parsed(body))
        if found is not None:
            word = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(found.number, "NaN")
            return broken_rule("invalid-value", found.place or "body", "be a finite number", found.number, got=word)
        return broken_rule("malformed-json", "body", "be JSON", body[:100], hint=f": {error}")
    parts = _PLACE.fullmatch(str(error))
    what, path = (parts["what"], parts["path"]) if parts else (str(error), "$")
    place = path.removeprefix("$").removeprefix(".") or whole
    data = _parsed(body)
    value = body[:100] if data is None else _look_up(data, path)
    got = brief(value) if data is None else _shown(value)
    return broken_rule("invalid-value", place, _rule(what), value, got=got)


def _rule(what: str) -> str:
    """Return the rule that is broken, given the message of the decoder."""
    missing = re.fullmatch(r"Object missing required field `(.+)`", what)
    if missing:
        return f"have the field {missing[1]!r}"
    unknown = re.fullmatch(r"Object contains unknown field `(.+)`", what)
    if unknown:
        return f"have fields of the API only, not {unknown[1]!r}"
    expected = re.fullmatch(r"Expected `(.+?)`(?:, got `.+`| (.+))", what)
    if expected:
        kind = " or ".join(_TYPES.get(each, f"an {each}") for each in expected[1].split(" | "))
        return f"be {kind} {expected[2]}" if expected[2] else f"be {kind}"
    return "be a finite number" if what == "Number out of range" else f"be valid ({what})"
