"""A policy: its functions, which are compiled (`Kernel`), and its parameters, as an immutable value (`Policy`)."""

import math
import pkgutil
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter as Argument
from inspect import Signature
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, cast, dataclass_transform, overload

from rotting.common.display.html_parts import block, table
from rotting.common.rules import Option, Rule, suggest
from rotting.common.short_numbers import DIGITS, short, short_texts
from rotting.errors import InvalidTypeError, InvalidValueError, KernelError
from rotting.policies.kernels.binding import KernelFunction, plain_function
from rotting.policies.kernels.code_checks import check_arguments

T = TypeVar("T")


class Params(Protocol):
    """The parameters of a policy as its functions get them: a NamedTuple with one number per field of the class.

    It is derived from the fields. Words become numbers: the position in the list of an `option`, or the number that a rule such
    as `SCALE` uses for "estimate".

    Example:
        >>> from rotting.policies.kl_ucb import KLUCB
        >>> policy = KLUCB("gaussian", sigma=0.5)
        >>> policy.kind, policy.params.kind
        ('gaussian', 1)
    """

    def __getattr__(self, name: str, /) -> Any: ...  # an int or a float, as its field says

    def __iter__(self) -> Iterator[float]: ...


class Reason(NamedTuple):
    """Why an arm was chosen or not. Fields that a policy does not use are NaN, or 0 for the window."""

    value: float  # the index of the paper; a tuple already has a method `index`
    mean: float
    window: int
    width: float


@dataclass(frozen=True)
class Kernel:
    """The functions of one policy.

    They are compiled, so they raise and print nothing; only `init`, `propensities` and `enlarge` may allocate.

    Args:
        init: `init(p, n_arms, capacity) -> state` with room for `capacity` rounds. A state is a NamedTuple of arrays, or of
            NamedTuples of arrays, such as a structure of `rotting.kit` in a field. If an array has an axis of arms, it is the
            first. The arrays of a smaller state are the leading corners of those of a larger one, so that live states can grow.
        choose: `choose(p, s, t, key, arms) -> arm`, one of `arms` (increasing arm numbers, never empty).
        update: `update(p, s, t, arm, reward) -> None`, in place.
        explain: `explain(p, s, t, arms, arm) -> Reason`, optional: the index of one of `arms`, with its mean, window and width.
        propensities: `propensities(p, s, t, arms, out)`, for a randomised policy: writes the probability that `choose` would
            return each of `arms` into `out`. A policy whose update divides by that probability keeps it in a state field
            `propensity` [K], written by `choose`; before the update of a delayed reward, the value of its own draw is restored.
        forget: `forget(p, s, arm)`, for a state that stores something about an arm outside the rows of the arm: removes it. The
            rows are initialised again afterwards.
        reset: `reset(p, s, horizon)`, for a policy tuned to a horizon: sets the state in place as `init` would for that
            horizon, with the tuning kept in the state. `init` calls it as well. `rotting.doubling` needs it, and a state
            field `epoch` [2] (rounds before this epoch, its length).
        tune: `tune(p, s)`, for a state whose tuning depends on the number of arms: computes the tuning again, in place, for the
            arms of `s` and the horizon in `s.epoch`, and keeps what was learned. `reset` calls it, and so does a bandit that
            has grown: if it grew to K arms before its first reward, it must equal one that began with K.
        enlarge: `enlarge(p, s, capacity) -> state`, for a state with room for items of all arms together, whose number is not
            known in advance. `capacity` is then the number of items, and the state has a field `full` [1]. An `update` that
            finds no room sets `full[0] = 1` and changes nothing else that a choice depends on. The state is then enlarged, and
            `update` is called again for that round; in a simulation, so is `choose`. A bandit may instead copy the state into
            one that `init` made with a larger capacity, which must give the same.
    """

    # The first three are required. `Policy` checks that, since its error can name the class.
    init: KernelFunction = None  # type: ignore[assignment]
    choose: Callable[..., int] = None  # type: ignore[assignment]
    update: Callable[..., None] = None  # type: ignore[assignment]
    explain: Callable[..., Reason] | None = None
    propensities: Callable[..., None] | None = None
    forget: Callable[..., None] | None = None
    reset: Callable[..., None] | None = None
    tune: Callable[..., None] | None = None
    enlarge: KernelFunction | None = None


def small_capacity(n_arms: int, rounds: int) -> int:
    """Return the first capacity of a state that can be enlarged: a few items per arm, and more in long games."""
    return 32 * n_arms + int(16.0 * rounds ** (1.0 / 3.0))  # hulls of steadily falling means grow with the cube root


_REQUIRED = ("init", "choose", "update")
_ARGUMENTS = {
    "init": ("p", "n_arms", "capacity"),
    "choose": ("p", "s", "t", "key", "arms"),
    "update": ("p", "s", "t", "arm", "reward"),
    "explain": ("p", "s", "t", "arms", "arm"),
    "propensities": ("p", "s", "t", "arms", "out"),
    "forget": ("p", "s", "arm"),
    "reset": ("p", "s", "horizon"),
    "tune": ("p", "s"),
    "enlarge": ("p", "s", "capacity"),
}


def _check_kernel(kernel: Kernel) -> None:
    """Refuse functions that are missing, or that take other arguments."""
    for name, arguments in _ARGUMENTS.items():
        function = getattr(kernel, name)
        if function is not None or name in _REQUIRED:
            check_arguments(plain_function(f"{name}({', '.join(arguments)})", function), arguments)


class Parameter:
    """A field of a policy's class, with its default, rule and meaning. On an instance, the field is the value.

    Example:
        >>> from rotting.policies.raw_ucb import RAWUCB
        >>> RAWUCB.parameters()[0].doc, RAWUCB(alpha=4).alpha
        ('confidence level: delta_t = 2 / t**alpha', 4.0)
    """

    name: str
    annotation: object

    def __init__(self, rule: Rule, doc: str, default: Any) -> None:
        self.rule = rule
        self.doc = doc
        self.default = default

    def __set_name__(self, owner: "type[Policy]", name: str) -> None:
        self.name = name
        self.annotation = owner.__annotations__.get(name, Argument.empty)

    def __get__(self, policy: "Policy | None", owner: "type[Policy] | None" = None) -> object:
        return self if policy is None else self.rule.show(getattr(policy.params, self.name))

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is Argument.empty


@overload
def parameter(rule: Rule, doc: str) -> Any: ...


@overload
def parameter(rule: Rule, doc: str, *, default: T) -> T: ...


def parameter(rule: Rule, doc: str, *, default: object = Argument.empty) -> object:
    """Return a field of a policy's class.

    Args:
        rule: what values are allowed; errors repeat it.
        doc: what the parameter means, in a few words; `rotting list` shows it.
        default: the value if none is given, as a user would write it. Without one, the parameter is required.
    """
    return Parameter(rule, doc, default)


def _derived_params(owner: "type[Policy]", names: list[str]) -> Callable[..., Params]:
    """Return the NamedTuple class `owner.params_class`, which can be pickled by that name."""
    make: Any = namedtuple  # type checkers want the names of the fields in the source
    made = make("Params", names, module=owner.__module__)
    made.__qualname__ = f"{owner.__qualname__}.params_class"
    return cast("Callable[..., Params]", made)


def how_to_accept(policy: "Policy", least: float, most: float) -> str:
    """Return a hint: the parameters with which a policy accepts rewards from `least` to `most`.

    Example:
        >>> from rotting.policies.kl_ucb import KLUCB
        >>> how_to_accept(KLUCB(), -math.inf, math.inf)
        "; give kind='gaussian' and its sigma, or outside='clip'"
    """
    rules = {each.name: each.rule for each in policy.parameters()}
    kind = rules.get("kind")
    ways = ["low and high that hold the rewards"] if math.isfinite(least) and math.isfinite(most) else []
    if isinstance(kind, Option) and "gaussian" in kind.words:
        ways.append("kind='gaussian' and its sigma")
    if "outside" in rules:
        ways.append("outside='clip'")
    return f"; give {', or '.join(ways)}" if ways else ""


def range_error(policy: "Policy", name: str, value: object, hint: str = "") -> InvalidValueError:
    """Return the error for rewards outside the range that a policy declares.

    Args:
        policy: its `reward_range` is not None.
        name: how the error calls the rewards.
        value: the reward, or what pays it.
        hint: how to go on.
    """
    low, high = policy.reward_range or (-math.inf, math.inf)
    return InvalidValueError(name, f"be in [{low!r}, {high!r}], the range that {policy!r} declares", value, hint=hint)


def horizon_error(policy: "Policy", name: str, rounds: int, got: str | None = None) -> InvalidValueError:
    """Return the error for more rounds than a policy is tuned for; the arguments are those of the error."""
    rule = f"be at most {policy.max_rounds}, the horizon that {policy!r} is tuned for"
    return InvalidValueError(name, rule, rounds, got=got, hint="; rotting.doubling(policy) plays without a horizon")


defined_policies: dict[str, "type[Policy]"] = {}
"""Every policy class by its name, once its module is imported; a class that is defined again replaces the older one."""


@cache
def _library_names() -> dict[str, str]:
    """Return the names of the library's policies with their modules, from the names of the files: none is imported."""
    modules = [each.name for each in pkgutil.iter_modules([str(Path(__file__).parent / "policies")]) if not each.ispkg]
    return {name.replace("_", "-"): f"rotting.policies.{name}" for name in modules}


@dataclass_transform(field_specifiers=(parameter,), frozen_default=True)
class Policy:
    """A policy with its parameters: an immutable value that can be compared, hashed, printed and written as JSON.

    Subclasses have a `name`, a `kernel`, and a field made by `parameter` for each parameter: see docs/your-own-policy.md.

    Attributes:
        name: the name on the command line and in files, unique among policies.
        kernel: the functions of the policy.
        title: the name in figures and tables, as papers write it; by default the name of the class.
        rested: whether it has a guarantee, or is known to learn, if arms rot with their pulls.
        restless: whether it has a guarantee, or is known to learn, if arms rot with time.
        needs_horizon: whether it needs the number of rounds.
        needs_changes: whether it needs the number of changes, or how much the means vary.
        randomised: whether it draws random numbers.
        has_index: whether it pulls the arm with the largest index, the `value` of `explain`, except in rounds that a schedule
            sets aside to explore. A policy that draws has none. A bandit lowers the index of arms whose rewards are pending.
        first_pulls: whether each arm is pulled once, in order, before any other choice, and so is an arm that is added later.
        cost: time of a round.
        memory: size of the state after t rounds.
        tuning_params: parameters that the tuning uses: allowed only with a `horizon`.
        manual_params: parameters set by hand: allowed only without a `horizon`, from which the tuning computes them.
        sees_means: whether it is an oracle: the game writes the true mean of every arm into `state.means` before each choice.

    Example:
        >>> from rotting.policies.raw_ucb import RAWUCB
        >>> RAWUCB(alpha=4)
        RAWUCB(alpha=4.0, sigma=1.0)
        >>> RAWUCB(4.0) == RAWUCB(alpha=4), RAWUCB() == RAWUCB(alpha=4)
        (True, False)
    """

    name: ClassVar[str]
    kernel: ClassVar[Kernel]
    title: ClassVar[str]
    rested: ClassVar[bool] = False
    restless: ClassVar[bool] = False
    needs_horizon: ClassVar[bool] = False
    needs_changes: ClassVar[bool] = False
    randomised: ClassVar[bool] = False
    has_index: ClassVar[bool] = False
    first_pulls: ClassVar[bool] = True
    cost: ClassVar[str] = "O(K)"
    memory: ClassVar[str] = "O(K)"
    tuning_params: ClassVar[tuple[str, ...]] = ()
    manual_params: ClassVar[tuple[str, ...]] = ()
    sees_means: ClassVar[bool] = False

    params_class: ClassVar[Callable[..., Params]]
    """The NamedTuple class of `params`, derived from the fields."""
    _parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = {name: each for name, each in vars(cls).items() if isinstance(each, Parameter)}
        for name in own:
            if name in Policy.__annotations__ or hasattr(Policy, name):
                raise InvalidValueError(f"parameters of {cls.__name__}", "not be called like an attribute of Policy", name)
        if own:
            inherited = {each.name: each for each in cls._parameters}
            cls._parameters = tuple({**inherited, **own}.values())
            cls.params_class = _derived_params(cls, [each.name for each in cls._parameters])
        cls.__signature__ = Signature(  # type: ignore[attr-defined]
            [
                Argument(each.name, Argument.POSITIONAL_OR_KEYWORD, default=each.default, annotation=each.annotation)
                for each in cls._parameters
            ]
        )
        if "name" in vars(cls):  # not so for a base class, or while a class is unpickled
            cls._register()

    @classmethod
    def _register(cls) -> None:
        """Register the class under its name; refuse a name that another policy has."""
        _check_attribute(cls, "name", str, "a text such as 'my-policy'")
        if "title" not in vars(cls):
            cls.title = cls.__name__
        known = defined_policies.get(cls.name, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            both = " and ".join(f"{each.__qualname__} of {each.__module__}" for each in (known, cls))
            raise InvalidValueError("name", "be unique among policies", cls.name, hint=f" for {both}")
        taken = _library_names().get(cls.name, cls.__module__)
        if taken != cls.__module__:
            here = f"{cls.__qualname__} of {cls.__module__}"
            raise InvalidValueError("name", "be unique among policies", cls.name, hint=f" for the policy of {taken} and {here}")
        defined_policies[cls.name] = cls

    def __init__(self, *args: float | str, **kwargs: float | str) -> None:
        _check_complete(type(self))  # type: ignore[arg-type]  # taken for a policy by mypy: its __hash__ needs an argument
        names = [each.name for each in self._parameters]
        if len(args) > len(names):
            raise InvalidTypeError(f"parameters of {type(self).__name__}", f"be at most {len(names)}", len(args))
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                known = ", ".join(names) or "none"
                rule, hint = f"be among: {known}", suggest(name, names)
                raise InvalidTypeError(f"parameters of {type(self).__name__}", rule, name, hint=hint)
            if name in given:
                raise InvalidTypeError(name, f"be given to {type(self).__name__} once", value, got="it twice")
            given[name] = value
        values = {}
        for declared in self._parameters:
            value = given.get(declared.name, declared.default)
            if declared.required and declared.name not in given:
                rule = f"be given to {type(self).__name__}, {declared.rule.text}"
                raise InvalidTypeError(declared.name, rule, None, got="nothing")
            values[declared.name] = declared.rule.check(declared.name, value)
        object.__setattr__(self, "params", self.params_class(**values))
        object.__setattr__(self, "_given", frozenset(given))
        for declared in self._parameters:
            if declared.name in self._inactive_params() and values[declared.name] != declared.rule.check(
                declared.name, declared.default
            ):
                why = "with a horizon, which decides it" if getattr(self.params, "horizon", 0) else "without a horizon"
                raise InvalidValueError(declared.name, f"be left out {why}", given[declared.name])
        self.check()

    params: Params
    """The parameters as numbers, for the functions of the kernel."""
    _given: frozenset[str]
    """The parameters that were not left at their defaults by saying nothing; no part of the value."""

    def check(self) -> None:
        """Raise an error if parameters contradict each other; for subclasses."""

    @property
    def max_rounds(self) -> int | None:
        """The most rounds this policy can play, if it is tuned to a horizon: its parameter `horizon`, unless 0."""
        return getattr(self.params, "horizon", None) or None

    def _inactive_params(self) -> tuple[str, ...]:
        """Return the parameters that have no effect: those of the tuning without a horizon, else those set by hand."""
        return self.manual_params if getattr(self.params, "horizon", 0) else self.tuning_params

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """The rewards this policy accepts, if it declares a range: its parameters `low` and `high`, unless it clips."""
        clips = getattr(self.params, "outside", 0) == 1  # "refuse", "clip"
        if hasattr(self.params, "low") and hasattr(self.params, "high") and not clips:
            return (self.params.low, self.params.high)
        return None

    @property
    def assumed_sigma(self) -> float | None:
        """The sub-Gaussian scale that the policy assumes because none was given; None if one was, or if it needs none.

        Example:
            >>> from rotting.policies.raw_ucb import RAWUCB
            >>> RAWUCB().assumed_sigma, RAWUCB(sigma=1.0).assumed_sigma, RAWUCB(sigma="estimate").assumed_sigma
            (1.0, None, None)
        """
        shown = self.shown_params()
        sigma = shown.get("sigma")
        if "sigma" in self._given or shown.get("kind", "gaussian") != "gaussian":
            return None
        if sigma == "range":  # that of rewards in [0, B]
            return None if "B" in self._given else float(self.params.B) / 2
        return sigma if isinstance(sigma, float) else None

    def shown_params(self) -> dict[str, Any]:
        """Return the parameters as people write them, without those that have no effect."""
        active = [each for each in self._parameters if each.name not in self._inactive_params()]
        return {each.name: each.rule.show(getattr(self.params, each.name)) for each in active}

    @property
    def label(self) -> str:
        """A short label for figures and tables: the title, alpha, and the parameters that differ from their defaults.

        Numbers have four significant digits, and more in `Result.labels` if two policies would have the same label.

        Example:
            >>> from rotting.policies.eff_raw_ucb import EffRAWUCB
            >>> EffRAWUCB().label, EffRAWUCB(alpha=4, sigma=0.2**0.5, m=1.1).label
            ('EFF-RAW-UCB 1.4', 'EFF-RAW-UCB 4, sigma=0.4472, m=1.1')
        """
        return self._label(DIGITS)

    def _label(self, digits: int, tuned: frozenset[str] = frozenset()) -> str:
        """Return the label, with this number of significant digits, and without the parameters that are tuned to horizons."""
        shown, words = self.shown_params(), [self.title]
        for k, declared in enumerate(self._parameters):
            if declared.name not in shown or declared.name in tuned:
                continue
            value = shown[declared.name]
            if k == 0 and declared.name == "alpha":  # papers distinguish variants by this number alone
                words[0] += f" {short(value, digits)}"
            elif declared.required or value != declared.default:
                words.append(f"{declared.name}={short(value, digits)}")
        return ", ".join([*words, *(["tuned"] if tuned else [])])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is a value and cannot be changed; make a new one")

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.shown_params().items())
        return f"{type(self).__name__}({inside})"

    def _repr_html_(self) -> str:
        shown = self.shown_params()
        rows = [[each.name, str(shown[each.name]), each.doc] for each in self._parameters if each.name in shown]
        learns = [name for name, does in (("rested", self.rested), ("restless", self.restless)) if does]
        sound = "an oracle, which sees the means" if self.sees_means else f"sound for {' and '.join(learns) or 'no'} rotting"
        note = f"{sound}; {self.cost} a round, {self.memory} memory"
        return block(self.label, table(["parameter", "value", ""], rows, left=3) if rows else "", note=note)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.params == other.params

    def __hash__(self) -> int:
        return hash((type(self), self.params))

    def __reduce__(self) -> "tuple[Callable[..., Policy], tuple[object, ...]]":
        return (type(self), tuple(self.params))

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return the parameters with their defaults, rules and meanings."""
        return cls._parameters

    def to_json(self) -> dict[str, Any]:
        """Return the policy as JSON-able data; `rotting.registry.from_json` reads it back."""
        return {"policy": self.name, "params": self.shown_params()}


Policy.params_class = _derived_params(Policy, [])


def _check_attribute(policy_class: type[Policy], name: str, kind: type, what: str) -> None:
    value = getattr(policy_class, name, None)
    if not isinstance(value, kind):
        raise InvalidTypeError(policy_class.__name__, f"have a `{name}`, {what}", value)


@cache
def _check_complete(policy_class: type[Policy]) -> None:
    """Refuse a class without a name of its own or without a usable kernel.

    It is called for the first policy of the class, since the kernel is set after the class, below its functions.
    """
    if "name" not in vars(policy_class):
        raise InvalidTypeError(policy_class.__name__, "have a `name`, a text such as 'my-policy'", None)
    _check_attribute(policy_class, "kernel", Kernel, "the Kernel of its functions")
    try:
        _check_kernel(policy_class.kernel)
    except KernelError as error:
        raise KernelError(f"{policy_class.__name__}: {error}") from None


def check_policies(policies: object) -> tuple[Policy, ...]:
    """Return one policy or several as a tuple.

    Example:
        >>> check_policies("raw-ucb")
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidTypeError: policies must be policies such as RAWUCB(alpha=1.4), got 'raw-ucb'
    """
    given: Any = [policies] if isinstance(policies, Policy | str) else policies
    try:
        one_by_one = iter(given)
    except TypeError:
        raise InvalidTypeError("policies", "be policies such as RAWUCB(alpha=1.4)", policies) from None
    listed = tuple(one_by_one)
    if not listed:
        raise InvalidValueError("policies", "hold at least one policy", listed, got="none")
    for policy in listed:
        if not isinstance(policy, Policy):
            raise InvalidTypeError("policies", "be policies such as RAWUCB(alpha=1.4)", policy)
    return listed


def labels_of(policies: Sequence[Policy], tuned: Sequence[frozenset[str]] = ()) -> list[str]:
    """Return the label of each policy, with as many digits as it takes to distinguish different policies.

    Args:
        policies: they may be equal.
        tuned: for each policy, the parameters that are tuned to horizons; by default none.

    Example:
        >>> from rotting.policies.raw_ucb import RAWUCB
        >>> labels_of([RAWUCB(sigma=0.33333), RAWUCB(sigma=1 / 3), RAWUCB(sigma=2 / 3)])
        ['RAW-UCB 1.4, sigma=0.33333', 'RAW-UCB 1.4, sigma=0.333333', 'RAW-UCB 1.4, sigma=0.6667']
    """
    rows = list(zip(policies, tuned or [frozenset[str]()] * len(policies), strict=True))
    texts = short_texts(rows, lambda row, digits: row[0]._label(digits, row[1]))
    return [texts[row] for row in rows]
