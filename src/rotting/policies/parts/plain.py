"""Plain classes as policies: objects with `pull` and `update`, which the interpreter plays."""

import copy
import hashlib
import inspect
import math
import operator
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Ints
from rotting.common.short_numbers import short
from rotting.errors import InvalidTypeError, KernelError, KernelIndexError
from rotting.policy import Kernel, Policy

_CHOICES = ("pull", "select")
_MADE_FROM = ("n_arms", "seed")  # what a run gives to a class; no parameters of the policy


class Player(Protocol):
    """A plain class: it has `update`, and `pull()` or `select()`, which return an arm and may take the list `arms`."""

    def update(self, arm: int, reward: float, /) -> object:
        """Learn the reward of an arm."""
        ...


class State(NamedTuple):
    """The player of one run. It is made before the first choice, since only then its seed is known."""

    player: NDArray[np.object_]  # [1]
    presence: NDArray[np.bool_]  # [K], for its size


def init(p: Any, n_arms: int, capacity: int) -> State:
    return State(np.full(1, None), np.ones(n_arms, np.bool_))


def choose(p: Any, s: State, t: int, key: int, arms: Ints) -> int:
    if s.player[0] is None:
        s.player[0] = p.new_player(s.presence.size, key)
    return int(p.choose(s, arms.tolist()))


def update(p: Any, s: State, t: int, arm: int, reward: float) -> None:
    p.update(s, int(arm), float(reward))


class PlainParams:
    """Makes the players of a plain class and calls them; its errors name the class. The game adds the round and the run.

    Args:
        given: a class or a function, which makes a player from the number of arms, or an object, which is copied.
        name: that of the class, for errors.
    """

    def __init__(self, given: object, name: str) -> None:
        self._given, self._name = given, name

    def __iter__(self) -> Any:
        return iter(())

    def new_player(self, n_arms: int, seed: int) -> object:
        """Return a player for one run, which no other run has."""
        if self._given is None:
            raise KernelError(f"{self._name}: must be passed as a class to be played, got one that was loaded from a file")
        if has_verbs(self._given):
            with _naming(f"{self._name}: must be an object that copy.deepcopy copies, but this"):
                return copy.deepcopy(self._given)
        make: Any = self._given
        seeds = {"seed": seed} if "seed" in _arguments(make) else {}
        call = f"{self._name}({', '.join([str(n_arms), *(f'{name}={value}' for name, value in seeds.items())])})"
        with _naming(call):
            player = make(n_arms, **seeds)
        if not has_verbs(player):
            missing = "update(arm, reward)" if _choice_of(player) else "pull() or select()"
            raise KernelError(f"{call} must have {missing}, got {type(player).__name__}, which has none")
        return player

    def choose(self, s: State, arms: list[int]) -> int:
        """Return the arm that the player pulls, one of `arms`."""
        player = s.player[0]
        name = _choice_of(player)
        method = getattr(player, name)
        with _naming(f"{self._name}.{name}"):
            answer = method(arms) if _wants_arms(method) else method()
        try:
            arm = operator.index(answer)
        except TypeError:
            raise KernelError(f"{self._name}.{name} must return the number of an arm, got {answer!r}") from None
        if arm not in arms:
            rule = f"an arm from 0 to {arms[-1]}" if len(arms) == s.presence.size else f"an arm that is present, one of {arms}"
            raise KernelIndexError(f"{self._name}.{name} must return {rule}, got {arm}")
        return arm

    def update(self, s: State, arm: int, reward: float) -> None:
        """Tell the player a reward."""
        with _naming(f"{self._name}.update"):
            s.player[0].update(arm, reward)


@contextmanager
def _naming(called: str) -> Iterator[None]:
    """Raise the exceptions of a plain class as `KernelError` with the name of what was called, and with their cause."""
    try:
        yield
    except Exception as error:
        raise KernelError(f"{called} raised {type(error).__name__}, {error}") from error


def _arguments(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except ValueError:  # some functions that are written in C have none
        return {}


def _choice_of(player: object) -> str:
    """Return the name of the method that chooses, or an empty text."""
    return next((name for name in _CHOICES if callable(getattr(player, name, None))), "")


def has_verbs(given: object) -> bool:
    """Return whether an object chooses and learns, and is no class of such objects."""
    return not isinstance(given, type) and bool(_choice_of(given)) and callable(getattr(given, "update", None))


def _wants_arms(method: Callable[..., object]) -> bool:
    """Return whether a method takes the arms: its first parameter has no default, or is called `arms`."""
    first = next(iter(_arguments(method).values()), None)
    if first is None or first.kind in (first.VAR_POSITIONAL, first.KEYWORD_ONLY, first.VAR_KEYWORD):
        return False
    return first.default is first.empty or first.name == "arms"


def is_plain(given: object) -> bool:
    """Return whether this is a plain class, a function that makes its objects, or one of them, and no policy."""
    if isinstance(given, type):
        return not issubclass(given, Policy)
    return not isinstance(given, Policy) and (callable(given) or has_verbs(given))


class PlainPolicy(Policy):
    """A plain class, a function that makes its objects, or one of them, as a policy that the interpreter plays.

    Two are equal if they make their players by the same class or function, or from equal objects: whether two functions do the
    same cannot be known. If one was loaded from a file, they are equal if what a file holds of them is: the name and the source
    of the class, and the settings.

    Args:
        name: that of the class.
        settings: the arguments of the constructor that are known.
        code: a digest of the source of the class. Equal digests do not imply equal choices.
        given: what makes the players; None for a policy that was loaded from a file, which cannot be played.
    """

    kernel = Kernel(init, choose, update)
    first_pulls = False
    randomised = True

    def __init__(self, name: str, settings: dict[str, Any], code: str, given: object = None) -> None:
        params = PlainParams(given, name)
        values = {"name": name, "title": name, "settings": settings, "code": code, "given": given, "params": params}
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)

    settings: dict[str, Any]
    code: str
    given: object

    @property
    def assumed_sigma(self) -> None:
        """None: nothing is known of the class."""

    def shown_params(self) -> dict[str, Any]:
        """Return the arguments of the constructor that are known."""
        return self.settings

    def _label(self, digits: int, tuned: frozenset[str] = frozenset()) -> str:
        settings = [f"{name}={short(value, digits)}" for name, value in self.settings.items() if name not in tuned]
        return ", ".join([self.title, *settings, *(["tuned"] if tuned else [])])

    def __repr__(self) -> str:
        return f"{self.title}({', '.join(f'{name}={value!r}' for name, value in self.settings.items())})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PlainPolicy) or self.to_json() != other.to_json():
            return False
        return self.given is None or other.given is None or _maker(self.given) == _maker(other.given)

    def __hash__(self) -> int:
        return hash((self.title, self.code))

    def __reduce__(self) -> tuple[Callable[..., Policy], tuple[object, ...]]:
        return PlainPolicy, (self.title, self.settings, self.code)

    def to_json(self) -> dict[str, Any]:
        """Return the policy as JSON-able data, from which it can be told from others, but not played."""
        return {"policy": self.title, "params": self.settings, "plain": self.code}


class UnknownPolicy(PlainPolicy):
    """A policy of a saved result whose class is not defined in this process: its label and its parameters.

    Args:
        data: the policy in JSON.
        label: its label when it was saved.
    """

    def __init__(self, data: dict[str, Any], label: str) -> None:
        super().__init__(label, {}, "")
        object.__setattr__(self, "data", data)

    data: dict[str, Any]

    def __reduce__(self) -> tuple[Callable[..., Policy], tuple[object, ...]]:
        return UnknownPolicy, (self.data, self.title)

    def to_json(self) -> dict[str, Any]:
        """Return the policy as it was saved."""
        return self.data


def maker_name(given: object) -> str:
    """Return the name of a class or a function, of what a `partial` calls, or of the class of an object."""
    called = given.func if isinstance(given, partial) else given
    return str(getattr(called, "__name__", type(called).__name__))


def _maker(given: object) -> object:
    """Return what is equal for two classes, functions or objects only if they make the same players."""
    try:
        if isinstance(given, partial):
            return given.func, pickle.dumps((given.args, given.keywords))
        return (type(given), pickle.dumps(vars(given))) if has_verbs(given) else id(given)
    except Exception:  # noqa: BLE001 - some values cannot be pickled, and say so in ways of their own
        return id(given)


def _settings_of(player: object) -> dict[str, Any]:
    """Return the arguments of the constructor that an object keeps, if they are numbers or texts."""
    found = {}
    for place, (name, argument) in enumerate(_arguments(type(player)).items()):
        value = getattr(player, name, None)
        value = value.item() if isinstance(value, np.generic) else value
        number = isinstance(value, int | float) and math.isfinite(value)
        arms = name in _MADE_FROM or (place == 0 and argument.default is argument.empty)
        if (number or isinstance(value, str)) and not arms:
            found[name] = value
    return found


def _source_digest(kind: type) -> str:
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):  # defined at a prompt
        return ""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def as_policy(given: object, n_arms: int) -> Policy:
    """Return a policy as it is, and a plain class as a policy.

    Example:
        >>> as_policy("raw-ucb", n_arms=2)
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidTypeError: policies must be policies such as RAWUCB(alpha=1.4), got 'raw-ucb'
    """
    if isinstance(given, Policy):
        return given
    if is_plain(given):
        # So a mistake is found before anything is played.
        player = PlainParams(given, maker_name(given)).new_player(n_arms, seed=0)
        kind = type(player)
        return PlainPolicy(kind.__name__, _settings_of(player), _source_digest(kind), given)
    hint = "" if isinstance(given, str) else ", which has no pull() and update(arm, reward)"
    raise InvalidTypeError("policies", "be policies such as RAWUCB(alpha=1.4)", given, hint=hint)


def plain_notes(policies: Iterable[Policy]) -> tuple[str, ...]:
    """Return the line below a table that names its plain classes."""
    lines = {PlainPolicy: "Plain Python, which is slow and neither timed nor kept", UnknownPolicy: "Loaded without its code"}
    named = {kind: dict.fromkeys(each.title for each in policies if type(each) is kind) for kind in lines}
    return tuple(f"{line}: {', '.join(named[kind])}." for kind, line in lines.items() if named[kind])
