"""`Bandit`: a policy in a user's program, with named arms that come and go, late rewards, and a state that can be saved."""

import math
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from typing import Any, Generic, Literal, Self, overload

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import Rule, nonnegative_int, positive_int
from rotting.errors import InvalidTypeError, InvalidValueError, RewardsWarning, brief
from rotting.live.arms import MAX_PRIOR_WEIGHT, Arm, UnknownArms, check_arm
from rotting.live.bandit_state import BanditState
from rotting.live.holdout import Uplift, uplift
from rotting.live.limits import Limits
from rotting.live.locks import Guard
from rotting.live.policy_state import is_library_kernel
from rotting.live.saved_state import SavedState, restore, save
from rotting.live.settings import checked_change, settings_of
from rotting.live.values import Decision, Duration, Explanation, Outcome, RewardRule, check_text, id_of, new_id, seconds_in
from rotting.policy import Policy
from rotting.simulation.engines.tiers import CompileMode

_WEIGHT = Rule(f"a whole number from 1 to {MAX_PRIOR_WEIGHT:,}", low=1, high=MAX_PRIOR_WEIGHT, whole=True)


def _check_pair(pair: object) -> tuple[object, object]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidTypeError("rewards", "be pairs of a decision and a reward", pair)
    return pair[0], pair[1]


def _checked_unit(unit: object) -> str | None:
    return None if unit is None else check_text("unit", unit)


def _decisions(
    state: BanditState[Arm], available: Ints, count: int, now: float, unit: str | None = None
) -> list[Decision[Arm]]:
    """Decide for a page: `count` distinct arms, each chosen from those that are left."""
    made: list[Decision[Arm]] = []
    for _ in range(count):
        key = new_id()
        entry, reason = state.decide(available, key, True, now, unit)
        arm = state.arms.names[entry.slot]
        made.append(Decision(key, arm, entry.round, entry.propensity, reason))  # type: ignore[arg-type]  # not None: explained
        if len(made) < count:
            available = available[available != entry.slot]
    return made


class Bandit(Generic[Arm]):
    """A policy that decides live: `decide` returns an arm, and `reward` reports what it paid.

        decision = bandit.decide()              # an arm, and an id
        bandit.reward(decision.id, 1.0)         # now or much later, in any order; sending it twice does no harm

    `pull` and `update` are the simple form, without ids, for rewards that arrive in the order of the decisions.

    **Report rewards of 0, too.** A decision without a reward stays pending; it does not count as 0. A program that reports only
    clicks teaches the bandit that all arms are equally good. `expire` ends decisions whose reward will never come, `cancel`
    those that were never shown.

    No horizon is needed, unless the policy is tuned to one: the state grows with the rounds. A round is a decision, or a reward
    without one (`learn` replays past rewards). Without a `reward_window`, the bandit learns each reward when it arrives, in any
    order. A policy that divides rewards by propensities uses the propensity of the decision that the reward belongs to.

    All methods may be called from several threads. A copy (`copy`, `deepcopy`, `pickle`) is an independent bandit that will
    draw the same random numbers. A forked process has its own copy, with its own random numbers.

    Args:
        policy: any policy except an oracle.
        arms: ids of the arms: strings, numbers, None or tuples of these, each once, at least one.
        seed: seed of the policy's own randomness.
        pending: "shrink": pending decisions shrink the width of an arm's index as if their rewards had arrived, so that no arm
            is chosen again and again before its first rewards arrive. "ignore": pending decisions change nothing.
            docs/delays.md states the exact rule, and measures both.
        max_pending: how many decisions can be pending. Each further decision expires the oldest one, with a warning. By
            default, there is no limit with a `reward_window`, which ends every decision, and 10,000 without. The bandit also
            remembers the rewards of this many earlier decisions, 10,000 by default, and of as many as are pending: a second
            reward for an older decision is "unknown".
        reward_window: how long a decision waits for its reward: "30min", "2h", "1d", a `timedelta`, or a number of seconds. The
            bandit then learns strictly in the order of the decisions: a decision settles when all older ones have settled and
            it has a reward, or when its window closes. So clicks are not learned ahead of the zeros that never arrive. Windows
            close when the bandit is next used, by a clock that does not jump. By default there is no window: the bandit learns
            each reward when it arrives, and expects one for every decision.
        missing: the reward of a decision whose window closes without one; None if such a decision does not count.
        holdout: the share of decisions that draw each available arm with the same probability, for `uplift`: those of units
            whose hash falls into the share, and others at random. Their rewards are learned, too.
        compile: "auto": the bandit decides immediately, interpreted, while a child process compiles the policy, and switches to
            machine code between two calls. "now": calls wait for the compiler, unless `warm_up` was called. "never": the bandit
            stays interpreted. Except with "never", machine code that is in the cache is used from the start. The decisions are
            the same, bit for bit. See docs/engines.md.

    Example:
        >>> from rotting.policies.eff_raw_ucb import EffRAWUCB
        >>> bandit = Bandit(EffRAWUCB(sigma=0.5), arms=["a", "b"], seed=0)
        >>> for _ in range(10):
        ...     decision = bandit.decide()
        ...     outcome = bandit.reward(decision.id, 1.0 if decision.arm == "a" else 0.0)
        >>> bandit.decide().arm
        'a'
        >>> bandit.reward(decision.id, 1.0), bandit.reward(decision.id, 0.5), bandit.reward("?", 1.0)
        ('duplicate', 'conflict', 'unknown')
        >>> bandit.add_arm("c")
        >>> bandit.decide().arm
        'c'
    """

    def __init__(
        self,
        policy: Policy,
        arms: Iterable[Arm],
        seed: int = 0,
        pending: Literal["shrink", "ignore"] = "shrink",
        max_pending: int | None = None,
        reward_window: Duration | None = None,
        missing: float | None = 0.0,
        holdout: float = 0.0,
        compile: CompileMode = "auto",
    ) -> None:
        state = BanditState.new(policy, arms, seed, pending, max_pending, reward_window, missing, holdout, compile)
        self._hold(Guard(state))

    def _hold(self, guard: Guard[Arm], warn: Callable[[str], object] | None = None) -> None:
        self._guard, self._state, self._warn_with = guard, guard.state, warn
        self._reward_rule = RewardRule(guard.state.policy)

    @classmethod
    def holding(cls, guard: Guard[Arm], warn: Callable[[str], object] | None = None) -> Self:
        """Return a bandit that holds an existing state.

        Args:
            guard: the state, and the lock for it.
            warn: called with each warning; by default they are Python warnings.
        """
        bandit = cls.__new__(cls)
        cls._hold(bandit, guard, warn)
        return bandit

    @classmethod
    def from_state(cls, state: object, compile: CompileMode = "auto") -> "Bandit":
        """Return the bandit that `get_state` saved; it decides as the original would.

        Args:
            state: what `get_state` returned.
            compile: as for `Bandit`.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> bandit = Bandit(Uniform(), arms=[1, 2, 3], seed=5)
            >>> twin = Bandit.from_state(bandit.get_state())
            >>> [bandit.pull() for _ in range(9)] == [twin.pull() for _ in range(9)]
            True
        """
        return Bandit.holding(Guard(restore(state, compile)))

    def __reduce__(self) -> tuple[Callable[..., "Bandit"], tuple[object]]:
        return Bandit.from_state, (self.get_state(),)  # so that a copy, even in another process, is independent

    # --- Decisions ------------------------------------------------------------------------------------------------------------

    @overload
    def decide(
        self,
        arms: Iterable[Arm] | None = None,
        count: None = None,
        *,
        without: Iterable[Arm] | None = None,
        unit: str | None = None,
    ) -> Decision[Arm]: ...

    @overload
    def decide(
        self, arms: Iterable[Arm] | None = None, *, count: int, without: Iterable[Arm] | None = None, unit: str | None = None
    ) -> tuple[Decision[Arm], ...]: ...

    def decide(
        self,
        arms: Iterable[Arm] | None = None,
        count: int | None = None,
        *,
        without: Iterable[Arm] | None = None,
        unit: str | None = None,
    ) -> Decision[Arm] | tuple[Decision[Arm], ...]:
        """Choose an arm now; report what it paid with `reward`.

        With a `count`, choose that many distinct arms for one page, best first, each among the arms that are not yet on the
        page. Each is a decision and a round of its own, with its own reward. Its propensity is the probability of the arm at
        its place, given the arms before it; the propensity of the page is their product.

        Args:
            arms: the arms available this time; all by default.
            count: how many arms to choose.
            without: arms that are not available this time, even if they are among `arms`.
            unit: what the decision is for, such as a country or a user. The log of a durable bandit keeps it, so that
                `rotting.diagnose` can tell wear by pulls from wear by time if units meet an arm at different rates. With a
                `holdout`, all decisions for a unit are on the same side.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> page = Bandit(Uniform(), arms=["a", "b", "c"]).decide(count=2)
            >>> [decision.propensity for decision in page], [decision.round for decision in page]
            ([0.3333333333333333, 0.5], [1, 2])
        """
        number = None if count is None else positive_int("count", count)
        state, checked_unit = self._state, _checked_unit(unit)
        with self._guard.lock:
            available, now = self._available(number or 1, arms, without), self._guard.settle()
            made = _decisions(state, available, number or 1, now, checked_unit)
        self._warn()
        return made[0] if number is None else tuple(made)

    def pull(self, arms: Iterable[Arm] | None = None, *, without: Iterable[Arm] | None = None) -> Arm:
        """Return the arm to play now: the simple form of `decide`. Report what it paid with `update`, even if that is 0.

        Args:
            arms: the arms available this time; all by default.
            without: arms that are not available this time.
        """
        state = self._state
        with self._guard.lock:
            available, now = self._available(1, arms, without), self._guard.settle()
            entry, _ = state.decide(available, state.rounds + 1, False, now)
            arm = state.arms.names[entry.slot]
        self._warn()
        return arm

    def _available(self, count: int, arms: Iterable[Arm] | None, without: Iterable[Arm] | None) -> Ints:
        """Return the slots to choose from, or raise an error if they do not suffice for `count` decisions."""
        state = self._state
        available = self._unpaused(arms, without)
        most = min(available.size, state.most_pending)
        if count > most:
            limit = "the number of available arms" if most == available.size else "max_pending"
            raise InvalidValueError("count", f"be at most {most}, {limit}", count)
        state.check_rounds(count)
        return available

    def _unpaused(self, arms: Iterable[Arm] | None, without: Iterable[Arm] | None = None) -> Ints:
        """Return the slots that were asked for and are not paused."""
        state = self._state
        available = state.arms.available(arms, without)
        if state.limits is None or not state.limits.paused:
            return available
        left = np.setdiff1d(available, list(state.limits.paused), assume_unique=True)
        if not left.size:
            raise InvalidValueError("arms", "hold an arm that is not paused", arms, got="none")
        return left

    def preview(
        self, arms: Iterable[Arm] | None = None, count: int = 1, *, without: Iterable[Arm] | None = None
    ) -> tuple[Decision[Arm], ...]:
        """Return the decisions that `decide` would make now, without making them. Their ids are "".

        The preview is exact as long as nothing else happens to the bandit, even for a policy that chooses at random, and even
        if `max_pending` is reached, so that deciding would expire the oldest decisions. A copy of the bandit decides, and other
        threads wait only while the copy is made. Over HTTP, the bandits of a `Client` do the same with `decide(dry_run=True)`.

        Args:
            arms: the arms available this time; all by default.
            count: how many distinct arms to choose.
            without: arms that are not available this time, even if they are among `arms`.

        Example:
            >>> import rotting
            >>> bandit = rotting.Bandit(rotting.Uniform(), arms=["a", "b", "c"])
            >>> next_page = bandit.preview(count=2)
            >>> [decision.id for decision in next_page], bandit.rounds
            (['', ''], 0)
            >>> [decision.arm for decision in next_page] == [decision.arm for decision in bandit.decide(count=2)]
            True
        """
        number = positive_int("count", count)
        with self._guard.lock:
            available, now, trial = self._available(number, arms, without), self._guard.now(), self._state.copy()
        trial.settle_closed(now)
        return tuple(made._replace(id="") for made in _decisions(trial, available, number, now))

    # --- Rewards --------------------------------------------------------------------------------------------------------------

    def reward(self, id: str | Decision, reward: float) -> Outcome:
        """Learn what a decision paid, and return the outcome. **Report rewards of 0, too**.

        "applied": the reward counts. "duplicate": the decision already has this reward; nothing changes. "conflict": the
        decision already has another reward, which stays. "unknown": there is no such decision, or its reward came too long ago
        to be remembered. "expired": the decision was cancelled or has expired, or its arm was forgotten.

        Args:
            id: the decision, or its id.
            reward: a finite number. True and False are refused, since they are rarely meant as a reward.
        """
        value, key = self._reward_rule.check(reward), id_of(id)
        with self._guard.lock:
            self._guard.settle()
            outcome = self._state.reward(key, value)
        self._warn()
        return outcome

    def reward_many(self, rewards: Iterable[tuple[str | Decision, float]]) -> list[Outcome]:
        """Learn what many decisions paid, in this order, and return the outcomes. If one reward is invalid, none is learned.

        Args:
            rewards: pairs of a decision, or its id, and a reward, as for `reward`.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> bandit = Bandit(Uniform(), arms=["a", "b", "c"])
            >>> bandit.reward_many([(decision, 1.0) for decision in bandit.decide(count=2)])
            ['applied', 'applied']
        """
        if not isinstance(rewards, Iterable):
            raise InvalidTypeError("rewards", "be pairs of a decision and a reward", rewards)
        pairs = [(id_of(id), self._reward_rule.check(reward)) for id, reward in map(_check_pair, rewards)]
        with self._guard.lock:
            self._guard.settle()
            outcomes = [self._state.reward(key, value) for key, value in pairs]
        self._warn()
        return outcomes

    def update(self, arm: Arm, reward: float) -> None:
        """Learn that `arm` paid `reward`: the simple form of `reward`. **Report rewards of 0, too**.

        The reward goes to the oldest decision of this arm that has no reward yet. If there is no such decision, the reward
        counts as a round of its own. A retired arm can still be updated.

        If an arm was forgotten and a new arm has the same id, a late reward of the old arm counts for the new one. If you
        reuse ids, use `decide` and `reward`, which tell the two arms apart.

        Args:
            arm: its id.
            reward: a finite number.
        """
        value, state = self._reward_rule.check(reward), self._state
        with self._guard.lock:
            slot = state.arms.known(arm, retired=True)
            self._guard.settle()
            arm, entry = state.arms.names[slot], state.ledger.first(slot)
            if entry is None:
                state.learn(arm, value)
            else:
                state.reward(entry.key, value)
        self._warn()

    def learn(self, data: object, *, unknown: UnknownArms = "refuse", name: str | None = None) -> int:
        """Learn many past rewards at once, for a warm start, and return how many. If one row is invalid, none is learned.

        Each row is a round of its own, as if `update` were called for each row, in this order, while no decision is pending. A
        million rows take a second or less. Other threads wait while the rows are learned, but not while they are read.

        A policy that divides rewards by propensities, such as Exp3, needs a column `propensity`; other policies ignore it.

        Args:
            data: the oldest reward first, in any form that `rotting.Log` reads: a data frame of pandas or Polars, or a
                mapping, with the columns `arm` and `reward`; pairs of an arm and a reward, or triples with a propensity; the
                path of a `.csv`, `.parquet` or `.jsonl` file with these columns, which needs the
                extra `rotting[logs]`; or the path of a store, whose rewards are learned in the order of their decisions, except
                for those of forgotten arms. Errors name the line of a CSV file, or the row of another table, counting from 0.
            unknown: what to do with arms that the bandit does not have: "refuse" the data, "add" them in the order in which
                they appear, or "skip" their rows.
            name: the name of the bandit in a log; it may be left out if there is only one.

        Example:
            >>> from rotting.policies.ucb1 import UCB1
            >>> bandit = Bandit(UCB1(), arms=["a", "b"])
            >>> bandit.learn({"arm": ["a", "b", "a"], "reward": [1.0, 0.0, 0.5]})
            3
            >>> bandit.learn([("c", 1.0), ("a", 0.0)], unknown="add")
            2
            >>> bandit.explain()["a"].mean, bandit.arms, bandit.rounds
            (0.5, ('a', 'b', 'c'), 5)
        """
        from rotting.live.past_decisions import match_arms, read_rewards  # noqa: PLC0415 - few programs need it

        state = self._state
        given = read_rewards(data, name, self._reward_rule, self.policy if state.learner.uses_propensity else None)
        with self._guard.lock:
            rows, new = match_arms(given, state.arms, unknown)
            state.check_rounds(rows.which.size)
            self._guard.settle()
            for arm in new:
                state.add(arm, None)
            state.learn_many(rows.arms, rows.which, rows.rewards, rows.propensities)
        return int(rows.which.size)

    # --- Decisions without a reward -------------------------------------------------------------------------------------------

    def cancel(self, id: str | Decision) -> Outcome:
        """End a decision that was never shown, as if it had not been made, except that its round stays counted.

        Returns "applied", "conflict" if it has a reward, "expired" if it has ended before, or "unknown".

        Args:
            id: the decision, or its id.
        """
        with self._guard.lock:
            return self._end(id_of(id), "cancelled", None)

    def _end(self, id: str, event: str, value: float | None) -> Outcome:
        self._guard.settle()
        entry = self._state.ledger.find_open(id)
        if entry is None:
            return self._state.ledger.outcome_if_not_open(id, math.nan)
        self._state.end(entry, event, value)
        return "applied"

    @overload
    def expire(self, id: str | Decision, *, missing: float | Literal["drop"] = "drop") -> Outcome: ...

    @overload
    def expire(self, *, older_than_rounds: int, missing: float | Literal["drop"] = "drop", limit: int | None = None) -> int: ...

    @overload
    def expire(self, *, older_than: Duration, missing: float | Literal["drop"] = "drop", limit: int | None = None) -> int: ...

    def expire(
        self,
        id: str | Decision | None = None,
        *,
        older_than_rounds: int | None = None,
        older_than: Duration | None = None,
        missing: float | Literal["drop"] = "drop",
        limit: int | None = None,
    ) -> Outcome | int:
        """End a decision that was shown and will get no reward, or all decisions of a certain age that have none.

        A reward that arrives afterwards is "expired". Use `cancel` for a decision that was not shown: such a decision does not
        wear out its arm.

        Returns the outcome, as `cancel` does; given an age, the number of decisions that ended.

        Args:
            id: the decision, or its id; or
            older_than_rounds: end all decisions that were made more than this many rounds ago; or
            older_than: end all decisions that were made at least this long ago: "1h", a `timedelta`, or a number of seconds.
                Without a reward window, times are not saved: a decision that was restored counts as made when it was restored.
            missing: "drop" to learn nothing, or the reward to learn instead, such as 0.0 if no report means no click.
            limit: with an age, end at most this many decisions, the oldest first. To end many without keeping other threads
                waiting, repeat the call until fewer than `limit` have ended.

        Example:
            >>> from rotting.policies.ucb1 import UCB1
            >>> bandit = Bandit(UCB1(), arms=["a", "b"])
            >>> old, new = bandit.decide(), bandit.decide()
            >>> bandit.expire(older_than_rounds=0, missing=0.0), bandit.reward(old.id, 1.0), bandit.explain()["a"].mean
            (1, 'expired', 0.0)
            >>> bandit.expire(older_than="1h")
            0
        """
        ages = [each for each in (older_than_rounds, older_than) if each is not None]
        if (id is not None) + len(ages) != 1:
            got = f"id={brief(id)}, older_than_rounds={brief(older_than_rounds)}, older_than={brief(older_than)}"
            raise InvalidTypeError("id, older_than_rounds or older_than", "be given, and only one", id, got=got)
        if limit is not None and not ages:
            raise InvalidTypeError("limit", "be given with an age only", limit, got=f"limit={brief(limit)}")
        most = None if limit is None else positive_int("limit", limit)
        value = None if isinstance(missing, str) and missing == "drop" else self._reward_rule.check(missing, "missing")
        with self._guard.lock:
            if id is not None:
                return self._end(id_of(id), "expired", value)
            return self._end_old(older_than_rounds, older_than, value, most)

    def _end_old(
        self, older_than_rounds: int | None, older_than: Duration | None, value: float | None, limit: int | None
    ) -> int:
        """End the decisions of an age that have no reward, at most `limit`; return their number."""
        guard, state = self._guard, self._state
        now = guard.settle()
        if older_than is not None:
            old = state.ledger.made_until(now - seconds_in("older_than", older_than))
        else:
            last = state.rounds - nonnegative_int("older_than_rounds", older_than_rounds) - 1
            old = state.ledger.until(last)
        ending = list(islice((entry for entry in old if entry.reward is None), limit))
        for entry in ending:
            state.end(entry, "expired", value)
        return len(ending)

    # --- Arms -----------------------------------------------------------------------------------------------------------------

    def add_arm(self, arm: Arm, prior: tuple[float, int] | Literal["pooled"] | None = None) -> None:
        """Add an arm. As in the paper, a new arm is explored at the next decision.

        Parameters that depend on the number of arms are tuned again; what was learned stays. If a retired arm has this id, it
        is forgotten first: rewards of its pending decisions do not reach the new arm.

        Args:
            arm: its id.
            prior: a mean and a weight up to 10,000: the new arm starts as if it had paid this mean that many times. "pooled":
                the mean of all rewards so far, with weight 1. With a prior, the arm is not explored first.
        """
        check_arm(arm)
        with self._guard.lock:
            if arm in self._state.arms.active:
                raise InvalidValueError("arm", "be new", arm, hint=", which is there already")
            self._state.add(arm, None if prior is None else self._checked_prior(prior))

    def _checked_prior(self, prior: object) -> tuple[float, int]:
        """Return the mean and the weight of a prior."""
        if self._state.learner.uses_propensity:
            rule = f"be left out for {self.policy!r}, which starts a new arm level with the best"
            raise InvalidValueError("prior", rule, prior)
        if isinstance(prior, str) and prior == "pooled":
            chooser = self._state.chooser
            if not chooser.n_rewards:
                raise InvalidValueError("prior", "be a mean and a weight as long as there are no rewards", prior)
            return chooser.reward_sum / chooser.n_rewards, 1
        if not isinstance(prior, tuple | list) or len(prior) != 2:
            raise InvalidValueError("prior", "be a mean and a weight, or 'pooled'", prior)
        return self._reward_rule.check(prior[0], "mean"), int(_WEIGHT.check("weight", prior[1]))

    def remove_arm(self, arm: Arm) -> None:
        """Stop choosing `arm`, and `forget` everything about it. To keep what was learned, `retire` it instead.

        Args:
            arm: its id.
        """
        with self._guard.lock:
            self._state.arms.known(arm)
            self.forget(arm)

    def retire(self, arm: Arm) -> None:
        """Stop choosing `arm`, but keep what was learned about it for `revive`. Its pending decisions can still be rewarded.

        Args:
            arm: its id.
        """
        with self._guard.lock:
            arms = self._state.arms
            arm = arms.names[arms.known(arm)]
            arms.check_not_last(arm)
            self._state.retire(arm)

    def revive(self, arm: Arm) -> None:
        """Choose a retired arm again, with what was learned about it.

        Args:
            arm: its id.
        """
        check_arm(arm)
        with self._guard.lock:
            arms = self._state.arms
            if arm not in arms.retired:
                raise InvalidValueError("arm", "be one that was retired, to be revived", arm)
            self._state.revive(arms.names[arms.retired[arm]])

    def forget(self, arm: Arm) -> None:
        """Forget everything about `arm`, active or retired. Rewards of its pending decisions will be "expired".

        The id may be used again for a new arm, which these rewards do not reach. To let them count, `retire` the arm first.

        Args:
            arm: its id.
        """
        with self._guard.lock:
            arms = self._state.arms
            arm = arms.names[arms.known(arm, retired=True)]
            arms.check_not_last(arm)
            self._state.forget(arm)

    # --- Settings -------------------------------------------------------------------------------------------------------------

    def change(self, *, reason: str = "", **settings: Any) -> None:
        """Change settings from now on; those that are not named stay. Pending decisions keep their ids.

        If all settings have these values already, nothing is changed or logged.

        A changed `policy` learns anew from all events that the log of the bandit keeps; only `rotting.open` and the service
        have such a log. With another policy, window or holdout, `uplift` begins to compare anew.

        Args:
            reason: why, for the log.
            settings: `policy`, or its parameters by name, such as `alpha`; `reward_window`, `missing`, `holdout` and
                `max_pending`, as for `Bandit`; `caps` and `floors`: the most and the least share of the decisions of the last
                hour, by arm; `paused`: the arms that are paused. A cap counts as long as another arm is available. An arm below
                its floor is chosen next, except by a decision that is held out.

        Example:
            >>> import rotting
            >>> bandit = rotting.Bandit(rotting.UCB1(), arms=["a", "b", "c"])
            >>> bandit.change(caps={"a": 0.2}, holdout=0.05, reason="contract of arm a")
            >>> [bandit.decide().arm for _ in range(6)]
            ['b', 'c', 'b', 'c', 'a', 'b']
            >>> bandit.explain()["a"].rule
            'cap'
        """
        with self._guard.lock:
            event = checked_change(self._state, reason, settings)
            if event is not None and "policy" in event:
                hint = "; a bandit in memory keeps no events to learn from"
                raise InvalidValueError("policy", "be changed on a bandit of rotting.open", self.policy, hint=hint)
            if event is not None:
                self._guard.settle()
                self._state.change(event)

    def pause(self, arm: Arm, *, reason: str = "") -> None:
        """Do not choose `arm` until `resume`. In contrast to `retire`, it stays one of the `arms`.

        Args:
            arm: its id.
            reason: why, for the log.
        """
        self._set_paused(arm, True, reason)

    def resume(self, arm: Arm, *, reason: str = "") -> None:
        """Choose a paused arm again.

        Args:
            arm: its id.
            reason: why, for the log.
        """
        self._set_paused(arm, False, reason)

    def _set_paused(self, arm: Arm, paused: bool, reason: str) -> None:
        with self._guard.lock:
            name = self._state.arms.names[self._state.arms.known(arm)]
            others = [each for each in settings_of(self._state)["paused"] if each != name]
            self.change(paused=[*others, name] if paused else others, reason=reason)

    # --- What changes nothing -------------------------------------------------------------------------------------------------

    def uplift(self, *, reward_range: tuple[float, float] | None = None, confidence: float = 0.95) -> Uplift:
        """Return what the policy earns above uniform choices per decision, with an interval that may be looked at any time.

        It needs a `holdout`. With a `reward_window`, decisions count when they settle. The interval is for the difference of
        the expected rewards of the decisions that were made: it holds it at all times with the given probability. It is made
        of empirical Bernstein bounds (Howard, Ramdas, McAuliffe, Sekhon, Annals of Statistics 2021, Theorem 4).

        Args:
            reward_range: the smallest and the largest possible reward; by default those that the policy declares, or 0 and 1.
            confidence: the probability.

        Example:
            >>> import rotting
            >>> bandit = rotting.Bandit(rotting.UCB1(), arms=["a", "b"], holdout=0.2)
            >>> for _ in range(5_000):
            ...     decision = bandit.decide()
            ...     outcome = bandit.reward(decision.id, 1.0 if decision.arm == "a" else 0.0)
            >>> print(bandit.uplift())
            the policy earns more: 0.9995 with the policy, 0.521436 without, difference 0.478064 [0.413889, 0.542238]
        """
        with self._guard.lock:
            state = self._state
            return uplift(state.comparison, state.policy.reward_range, reward_range, confidence)

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._state.policy

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that may be chosen, in the order of their slots."""
        arms = self._state.arms
        return tuple(arms.names[slot] for slot in arms.slots)

    @property
    def rounds(self) -> int:
        """The number of rounds played so far: the paper's t - 1."""
        return self._state.rounds

    @property
    def pending(self) -> int:
        """The number of decisions without a reward; with a reward window, the number of decisions that have not settled."""
        return self._state.n_pending

    @property
    def is_compiled(self) -> bool:
        """Whether the policy runs as machine code; if not, it is interpreted, with the same decisions.

        Each function is compiled when it is first called, for example by the first `explain`. Functions that were never called
        do not count.
        """
        return self._state.chooser.is_compiled

    def __repr__(self) -> str:
        state = self._state
        window = "" if state.window is None else f", reward_window={state.window.seconds!r}"
        return f"Bandit({self.policy!r}, arms={list(self.arms)!r}{window}, rounds={self.rounds})"

    def propensities(self, arms: Iterable[Arm] | None = None) -> dict[Arm, float]:
        """Return the probability with which the next decision would choose each arm.

        To log the propensity of a decision, use `Decision.propensity`: between two calls, another thread may decide.

        Args:
            arms: the available arms; all by default.

        Example:
            >>> import rotting
            >>> rotting.Bandit(rotting.Uniform(), arms=["a", "b"]).propensities()
            {'a': 0.5, 'b': 0.5}
        """
        with self._guard.lock:
            asked, available = self._state.arms.available(arms), self._unpaused(arms)
            trial, now = self._state.copy(), self._guard.now()  # a copy, since a choice changes the state
        chances = dict.fromkeys((trial.arms.names[slot] for slot in asked), 0.0)
        slots, found = trial.propensities(available, now)
        return chances | {trial.arms.names[slot]: chance for slot, chance in zip(slots, found.tolist(), strict=True)}

    def explain(self) -> Explanation[Arm]:
        """Return the index, mean, window, width, rewards and pending decisions of each arm, for the next decision.

        The index is the policy's own. Without pending decisions, the arm with the largest index is chosen next. With
        `pending="shrink"`, pending decisions shrink the widths; the `reason` of a `Decision` has the index that was used.

        Example:
            >>> import rotting
            >>> bandit = rotting.Bandit(rotting.UCB1(), arms=["a", "b"])
            >>> bandit.update("a", 3.0)
            >>> bandit.explain()["a"].mean, bandit.explain()["b"].index
            (3.0, inf)
        """
        with self._guard.lock:
            state = self._state
            slots, t, now = state.arms.slots, state.rounds + 1, self._guard.now()
            trial = state.chooser.copy()  # a copy, since explaining may change the state
            limits = Limits() if state.limits is None else state.limits.copy()
            names = {slot: state.arms.names[slot] for slot in slots.tolist()}
        reasons = {slot: trial.explanation(slot, trial.learner.explain(t, slots, slot)) for slot in names}
        capped, due = limits.capped(names, now), limits.due(slots, now)
        rules = dict.fromkeys(capped, "cap") | dict.fromkeys([] if due is None else [due], "floor")
        rules |= dict.fromkeys(limits.paused, "paused")
        return Explanation((names[slot], each._replace(rule=rules.get(slot, ""))) for slot, each in reasons.items())

    def warm_up(self) -> None:
        """Prepare every function of the policy, so that no later call waits for the compiler.

        With `compile="now"`, all of them are compiled. With "auto", machine code that is in the cache is loaded, and no call
        waits for the rest. A policy from outside the library is called on a copy of its state.
        """
        with self._guard.lock:
            state = self._state
            trial, t, slots = state.chooser.copy(), state.rounds + 1, state.arms.slots
        trial.warm_up()
        learner = trial.learner
        if not is_library_kernel(state.policy.kernel) and t <= state.max_rounds:
            slot, *_ = trial.choose(t, state.random_key, slots, True)
            reward = self._reward_rule.middle
            learner.learn_all(np.full(1, t), np.full(1, slot), np.full(1, reward))
            learner.learn(t, slot, reward)
            trial.probabilities(t, state.random_key, slots)
        learner.forget(int(slots[0]))
        learner.set_present(slots)

    def get_state(self) -> SavedState:
        """Return the policy, the arms, the statistics, the decisions and the randomness as JSON-able data, for `from_state`."""
        with self._guard.lock:
            twin = self._state.copy()
        return save(twin)

    def _warn(self) -> None:
        """Issue the warnings of the state. The lock must be released, since Python may turn a warning into an exception."""
        messages = self._state.warnings
        while messages:
            with suppress(IndexError):  # another thread has issued it meanwhile
                message = messages.pop()
                if self._warn_with is None:
                    warnings.warn(message, RewardsWarning, stacklevel=3)
                else:
                    self._warn_with(message)
