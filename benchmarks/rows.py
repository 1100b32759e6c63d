"""The rows of the benchmark: each is data and a function that sets its contestants up."""

import functools
import statistics
from collections.abc import Callable, Iterator

import rotting
from benchmarks import (
    before,
    decisions,
    drift,
    durable,
    engines,
    limit,
    many,
    numpy_style,
    ours,
    packages,
    resources,
    samples,
    service,
)
from benchmarks.measure import Check, Contestant, Goal, Race, Row, Sample, Size
from benchmarks.ours import Stretches, many_arms
from rotting.experiments import exact_windows
from rotting.policy import Policy
from rotting.problems import Problem, stationary, ten_arms, two_arms
from tests.reference import full_scan

OURS, NUMPY, C, C_LAZY, SCAN = "rotting", "NumPy style", "C", "C, lazy", "compiled scan"
EFF, UCB1, BLOCKS = "EffRAWUCB(m=2)", "UCB1", "blocks"
PLAIN, COMING, PASSING = "arms that stay", "arms that come", "arms that come and leave"
TIRING, RECOVERING = "arms that tire", "arms that recover"
NUMPY_PENDING = "NumPy style, EFF with m = 1"

# What is and is not timed, and why that is fair.
_REWARDS = (
    "rotting and C draw every reward inside the timed loop, with the same generator (Philox4x32-10, AS 241), and play the same "
    "runs. The NumPy-style peers read the rewards of run 0 from a table that is computed before the timer starts, which "
    "favours them."
)
_ENGINE = "rotting: us_per_round of simulate(workers=1), which does not include compiling."
_IN_C = (
    "C evaluates every window of both arms in every round, as printed in the paper, with a table of 1 / sqrt(h) and plain "
    "sums. 'C, lazy' also evaluates arms and pending sums lazily, as the library does: it is a lower limit for these ideas, "
    "without a goal."
)
_PENDING = (
    "The authors' framework defines RAW-UCB as EFF-RAW-UCB with m = 1 + 1e-15: it keeps pending sums for every window in "
    "arrays that grow by a column. The goal is relative to the faster NumPy version, which keeps the sums of all windows "
    "directly."
)
_BLOCKS = "'blocks' makes the same choices from all rewards, with the search of RAW-UCB++, which cannot use hulls."
_CALLS = (
    "Wall-clock time, with Python's garbage collector off. The same game is played several times, and the shortest time of "
    "each single call counts: the cost of the call itself recurs, that of other processes on the machine does not."
)
_ON_STRETCHES = (
    "A whole game of the scan would take minutes, so its time per round is measured on short stretches of the same game, in "
    "the middle of equal parts of it, and averaged: the mean over the game, as the cost is near linear in t. rotting plays "
    "from copies of the same states, also on stretches (longer ones, as its rounds are shorter). Both record rewards in the "
    "same history, and the choices on the stretches are compared one by one."
)
_LIVE = (
    "All contestants read rewards from a table; the first 1,000 rounds are not timed. Peers run their own algorithms: a round "
    "of UCB does less than a round of EffRAWUCB, so compare UCB with 'rotting UCB1'."
)
_BARE = (
    "'bare' is a minimal pull and update without ids: the same compiled calls and checks under a lock, and a count for each "
    "arm. decide + reward also make an id, a propensity and a reason, and record the outcomes and their order."
)
_BESIDE = (
    "Wall-clock time of single calls, which includes the effect of everything else on the machine: the column 'detail' has the "
    "same figures without snapshots in the same process."
)
_STATIONARY = (
    "PyMAB cannot simulate rested decay, hence a stationary problem; its runner keeps every action and reward, ours keeps 200 "
    "checkpoints of the regret. Both times are those of the whole call."
)

_ENGINES = (
    "Wall-clock time from the call of simulate to its result, with one checkpoint; neither compiling nor starting a cluster is "
    "timed. A GPU plays 300,000 runs at once (a million with --full; 100,000 of FEWA), CPUs 10,000 (30,000)."
)


def eff_raw_ucb(size: Size) -> dict[str, Contestant]:
    """EFF-RAW-UCB on two arms."""
    horizon = min(10_000, size.rounds)
    problem = two_arms(horizon=horizon)
    return {
        OURS: ours.game(rotting.EffRAWUCB(), problem, horizon, size.rounds),
        C: limit.game("eff_raw_ucb_plain", problem, horizon, size.rounds),
        C_LAZY: limit.game("eff_raw_ucb_lazy", problem, horizon, size.rounds),
        NUMPY: numpy_style.game("eff-raw-ucb", problem, horizon, 1.4),
    }


def raw_ucb(size: Size) -> dict[str, Contestant]:
    """RAW-UCB on ten arms."""
    horizon = min(10_000, size.rounds)
    problem = ten_arms(horizon=horizon)
    return {
        OURS: ours.game(rotting.RAWUCB(), problem, horizon, size.rounds // 4),
        "C, scan": limit.game("raw_ucb_scan", problem, horizon, size.rounds // 20),
        NUMPY: numpy_style.game("raw-ucb", problem, horizon, 1.4),
        NUMPY_PENDING: numpy_style.game("raw-ucb", problem, horizon, 1.4, m=1 + 1e-15),
    }


def exact(build: Callable[[int], Problem], longest: int) -> Callable[[Size], dict[str, Contestant]]:
    """RAW-UCB, the efficient version, UCB1, and the search of blocks that the hulls took the place of."""

    def contestants(size: Size) -> dict[str, Contestant]:
        horizon = min(longest, size.rounds)
        problem = build(horizon)
        sigma = problem.noise.scale
        race = functools.partial(ours.game, problem=problem, horizon=horizon, rounds=size.rounds)
        return {
            OURS: race(rotting.RAWUCB(sigma=sigma)),
            EFF: race(rotting.EffRAWUCB(sigma=sigma)),
            UCB1: race(rotting.UCB1(sigma=sigma)),
            BLOCKS: race(full_scan.RAWUCBByBlocks(sigma=sigma), algorithm="raw-ucb"),
        }

    return contestants


def exact_rows() -> Iterator[Race]:
    """Exact windows against the efficient ones, and against none."""
    games: dict[str, Callable[[int], Problem]] = {"two": lambda T: two_arms(horizon=T), "ten": lambda T: ten_arms(horizon=T)}
    for arms, build in games.items():
        for text, horizon in (("1e4", 10_000), ("1e6", 1_000_000)):
            goals = tuple(
                Goal(f"RAWUCB over {name}, {arms} arms, T = {text}", OURS, name, "at most", limit, aim)
                for name, limit, aim in ((EFF, 1.5, 1.2), (UCB1, 1.8, 1.4))
            )
            yield Race(
                f"exact-{arms}-{text}",
                f"exact RAWUCB, rested {arms} arms, T = {text}, one core",
                exact(build, horizon),
                goals,
                (_ENGINE, _BLOCKS),
            )
    yield Race(
        "exact-falling",
        "exact RAWUCB, two arms that fall steadily, sigma 0.1, T = 1e6, one core",
        exact(lambda T: exact_windows.problems(T)["falling"], 1_000_000),
        (Goal(f"RAWUCB over {EFF}, falling arms, T = 1e6", OURS, EFF, "at most", 3.0),),
        (_ENGINE, _BLOCKS, "The hulls have hundreds of vertices here."),
    )


def raw_kl_ucb(size: Size) -> dict[str, Contestant]:
    """RAW-klUCB against a scan of the windows of the arm in front."""
    horizon = min(10_000, size.rounds)
    problem = stationary([0.9, *[0.5] * 9], rotting.Bernoulli(), horizon)
    return {
        OURS: ours.game(rotting.RAWKLUCB(), problem, horizon, size.rounds),
        SCAN: ours.game(before.RAWKLUCBScan(), problem, horizon, horizon, "raw-kl-ucb"),
    }


def glr_update(size: Size) -> dict[str, Contestant]:
    """GLR-UCB's update after few and many samples."""
    sizes = (1_000, 10_000, 100_000)
    return {
        **{f"rotting, n = {n:,}": samples.on_hulls(n) for n in sizes},
        **{f"{BLOCKS}, n = {n:,}": samples.on_blocks(n) for n in sizes},
    }


def against_scan(policy: Policy, scan: Callable[..., int], problem: Problem, horizon: int, size: Size) -> dict[str, Contestant]:
    """Time a policy and its compiled scan of all windows on stretches of one game, from copies of the same states."""
    horizon = min(horizon, size.rounds)
    step = horizon // size.stretches
    fast, slow = min(1_000, step // 2), min(50, step // 2)
    source = Stretches(policy, problem, horizon + slow + fast)
    middles = []
    for k in range(size.stretches):
        source.play(k * step + step // 2)
        middles.append(source.copy())

    def turn(rounds: int, choose: Callable[..., int] | None) -> Sample:
        times, pulls, total = [], [], 0.0
        for middle in middles:
            twin = middle.copy()
            twin.play(twin.rounds + slow)  # not timed: a copy is not in the caches yet
            spent, arms = twin.play(twin.rounds + rounds, choose)
            times.append(spent * 1e6 / rounds)
            total += spent
            pulls.append(tuple(arms[:slow]))
        return Sample(statistics.fmean(times), total, policy.name, tuple(pulls))

    return {OURS: functools.partial(turn, fast, None), SCAN: functools.partial(turn, slow, scan)}


def fewa_scan(size: Size) -> dict[str, Contestant]:
    """FEWA against the compiled scan."""
    return against_scan(rotting.FEWA(), full_scan.fewa, ten_arms(horizon=100_000), 100_000, size)


def raw_ucb_scan(size: Size) -> dict[str, Contestant]:
    """RAW-UCB against the compiled scan, which needs the rewards that the hulls leave out: both record them."""
    return against_scan(full_scan.RAWUCBWithHistory(), full_scan.raw_ucb_choice, ten_arms(horizon=100_000), 100_000, size)


def after_first_pulls(policy: Policy, n_arms: int, rounds: int) -> Contestant:
    """Time the `rounds` rounds that follow the first pull of every arm."""
    problem = many_arms(n_arms)

    def turn() -> Sample:
        # From the start, not from a copy: copying would touch memory of 10,000 histories that is only reserved.
        start = Stretches(policy, problem, n_arms + rounds)
        start.play(n_arms)
        spent, _ = start.play(n_arms + rounds)
        return Sample(spent * 1e6 / rounds, spent)

    return turn


def arms(size: Size) -> dict[str, Contestant]:
    """EFF-RAW-UCB with few and with many arms."""
    rounds = size.rounds // 10
    return {f"rotting, K = {K:,}": after_first_pulls(rotting.EffRAWUCB(), K, rounds) for K in (10, 10_000)}


def changing_arms(policy: Policy) -> Callable[[Size], dict[str, Contestant]]:
    """One policy on arms that come, pass and recover, and on as many that are always there."""

    def contestants(size: Size) -> dict[str, Contestant]:
        rounds, n_arms = size.rounds // 10, 500
        plain = many_arms(n_arms)
        problems = {
            PLAIN: plain,
            COMING: ours.coming_arms(plain, rounds),
            PASSING: ours.passing_arms(plain, rounds),
            TIRING: ours.tiring_arms(n_arms),
            RECOVERING: ours.recovering_arms(n_arms),
        }
        return {name: ours.game(policy, problem, rounds, rounds) for name, problem in problems.items()}

    return contestants


def changing_rows() -> Iterator[Race]:
    """Arms that come, leave and recover."""
    for policy in (rotting.RAWUCB(), rotting.UCB1()):
        name = type(policy).__name__
        yield Race(
            f"changing-arms-{policy.name}",
            f"{name} on 500 arms that come, leave or recover, T = 1e5, one core",
            changing_arms(policy),
            tuple(
                Goal(f"{name}, {over} over {under}", over, under, "at most", 3.0)
                for over, under in ((COMING, PLAIN), (PASSING, PLAIN), (RECOVERING, TIRING))
            ),
            (_ENGINE,),
        )


def workers(size: Size) -> dict[str, Contestant]:
    """One worker and two, and the same in C."""
    horizon, rounds = min(10_000, size.rounds), 8 * size.rounds
    problem, policy = two_arms(horizon=horizon), rotting.EffRAWUCB()
    threads = {
        f"C, {n} {'thread' if n == 1 else 'threads'}": limit.game(
            "eff_raw_ucb_plain", problem, horizon, rounds, threads=n
        )
        for n in (1, 2)
    }  # fmt: skip
    return {
        "rotting, 1 worker": ours.whole_call(policy, problem, horizon, rounds // horizon, 1),
        "rotting, 2 workers": ours.whole_call(policy, problem, horizon, rounds // horizon, 2),
        **threads,
    }


def decided(size: Size) -> dict[str, Contestant]:
    """Decide and reward, round by round, on ten arms."""
    policy, rounds = rotting.EffRAWUCB(sigma=0.5), max(size.rounds // 50, 500)
    race = functools.partial(packages.live, n_arms=10, rounds=rounds)
    return {
        OURS: race(decisions.deciding(policy)),
        "rotting, pull + update": race(packages.bandit(policy)),
        "bare": race(decisions.bare(policy)),
        "River UCB": race(packages.river("UCB")),
    }


def live(size: Size) -> dict[str, Contestant]:
    """Pull and update, round by round, on ten arms."""
    fast, slow = max(size.rounds // 50, 500), max(size.slow_rounds // 4, 50)
    policy = rotting.EffRAWUCB(sigma=0.5)
    race = functools.partial(packages.live, n_arms=10)
    return {
        OURS: race(packages.bandit(policy), rounds=fast),
        "rotting UCB1": race(packages.bandit(rotting.UCB1(sigma=0.5)), rounds=fast),
        "River UCB": race(packages.river("UCB"), rounds=fast),
        "River Thompson": race(packages.river("Thompson"), rounds=fast),
        "River Exp3": race(packages.river("Exp3"), rounds=fast),
        "PyMAB UCB": race(packages.pymab("UCBPolicy"), rounds=fast),
        "PyMAB Thompson": race(packages.pymab("BernoulliThompsonSamplingPolicy"), rounds=fast),
        "PyMAB Exp3": race(packages.pymab("EXP3Policy"), rounds=fast),
        "MABWiser UCB1": race(packages.mabwiser("UCB1"), rounds=slow),
        "MABWiser Thompson": race(packages.mabwiser("ThompsonSampling"), rounds=slow),
        "NumPy style EFF-RAW-UCB": race(packages.numpy_peer("eff-raw-ucb", 1.4, 0.5), rounds=slow),
    }


def simulation(size: Size) -> dict[str, Contestant]:
    """Whole simulations of stationary Gaussian arms."""
    horizon, means = min(10_000, size.rounds), [0.0, 0.15]
    problem = stationary(means)
    slow = max(1, size.rounds // 20 // horizon)
    fast = max(1, size.rounds // horizon)
    return {
        "rotting UCB1": ours.whole_call(rotting.UCB1(), problem, horizon, fast, 1),
        "rotting EFF-RAW-UCB": ours.whole_call(rotting.EffRAWUCB(), problem, horizon, fast, 1),
        "PyMAB UCB, Rust runner": packages.pymab_experiment(means, horizon, slow),
    }


def filters(name: str, policy: Policy) -> Callable[[Size], dict[str, Contestant]]:
    """FEWA or EFF-FEWA on ten arms."""

    def contestants(size: Size) -> dict[str, Contestant]:
        horizon = min(10_000, size.slow_rounds)
        problem = ten_arms(horizon=horizon)
        return {
            OURS: ours.game(policy, problem, horizon, size.rounds // 4),
            NUMPY: numpy_style.game(name, problem, horizon, 0.06),
        }

    return contestants


ROWS: tuple[Row, ...] = (
    Race(
        "eff-raw-ucb",
        "EffRAWUCB(m=2), K = 2 (two_arms), T = 1e4, one core",
        eff_raw_ucb,
        (
            Goal("EffRAWUCB, K = 2, T = 1e4: NumPy style over rotting", NUMPY, OURS, "at least", 300, 600),
            Goal("EffRAWUCB, K = 2, T = 1e4: rotting over C", OURS, C, "at most", 1.5),
        ),
        (
            _REWARDS,
            _ENGINE,
            _IN_C,
        ),
    ),
    Race(
        "raw-ucb",
        "exact RAWUCB, K = 10 (ten_arms), T = 1e4, one core",
        raw_ucb,
        (Goal("RAWUCB, K = 10, T = 1e4: NumPy style over rotting", NUMPY, OURS, "at least", 100, 300),),
        (_REWARDS, _ENGINE, "'C, scan' is brute force over all windows, vectorised by the compiler.", _PENDING),
    ),
    *exact_rows(),
    *changing_rows(),
    Race(
        "engines",
        "five policies, K = 2 (two_arms), T = 1e4, on every engine that is there, with all CPUs",
        engines.contestants,
        (Goal("UCB1, K = 2, T = 1e4: threads over a GPU", "UCB1, threads", "UCB1, cuda", "at least", 20),),
        (
            _ENGINES,
            "The paper's rested figure is 30 values of L, 8 policies and 2,000 runs each: 4.8e9 rounds.",
        ),
    ),
    Race(
        "raw-kl-ucb",
        "exact RAWKLUCB, K = 10 stationary Bernoulli arms, T = 1e4, one core",
        raw_kl_ucb,
        (Goal("RAWKLUCB, K = 10, T = 1e4: compiled scan over rotting", SCAN, OURS, "at least", 50),),
        (_ENGINE, "One arm is best by far and gets most pulls. The scan looks at all windows of the arm in front only."),
    ),
    Race(
        "glr-update",
        "GLRUCB, one update after n stationary Gaussian samples of the arm, one core",
        glr_update,
        (
            Goal(
                "GLRUCB's update, n = 10,000: blocks over rotting",
                f"{BLOCKS}, n = 10,000",
                "rotting, n = 10,000",
                "at least",
                3,
            ),
            Goal("GLRUCB's update: n = 100,000 over n = 1,000", "rotting, n = 100,000", "rotting, n = 1,000", "at most", 1.5),
            Goal("GLRUCB's update: n = 10,000 over n = 1,000", "rotting, n = 10,000", "rotting, n = 1,000", "at most", 1.5),
        ),
        ("A round is an update, which records and tests the sample. Twenty arms take turns: the size of a hull is random.",),
    ),
    Race(
        "fewa-scan",
        "exact FEWA, K = 10 (ten_arms), T = 1e5, one core",
        fewa_scan,
        (Goal("FEWA, K = 10, T = 1e5: compiled scan over rotting", SCAN, OURS, "at least", 50),),
        (_ON_STRETCHES,),
    ),
    Race("raw-ucb-scan", "exact RAWUCB, K = 10 (ten_arms), T = 1e5, one core", raw_ucb_scan, (), (_ON_STRETCHES,)),
    Race(
        "arms",
        "EffRAWUCB(m=2), one core, after the first pull of every arm",
        arms,
        (
            Goal(
                "EffRAWUCB after the first pulls: K = 10,000 over K = 10",
                "rotting, K = 10,000",
                "rotting, K = 10",
                "at most",
                20,
            ),
        ),
        ("The same number of rounds for both, right after the first pulls; rewards are drawn in the loop.",),
    ),
    Race(
        "workers",
        "EffRAWUCB(m=2), K = 2 (two_arms), T = 1e4, many runs, wall-clock time",
        workers,
        (Goal("one worker over two", "rotting, 1 worker", "rotting, 2 workers", "at least", 1.7),),
        ("Time of the whole call of simulate. The C loop on one and two threads shows the possible speed-up on this machine.",),
    ),
    Race(
        "live",
        "pull + update, K = 10, Bernoulli arms, round by round",
        live,
        (Goal("live, K = 10: EffRAWUCB over River's UCB", OURS, "River UCB", "at most", 1.0, 0.5),),
        (_LIVE,),
    ),
    Race(
        "decide",
        "decide + reward of EffRAWUCB, K = 10, Bernoulli arms, round by round",
        decided,
        (
            Goal("decide + reward over a bare choice and update", OURS, "bare", "at most", 2.0, 1.8),
            Goal("decide + reward over River's UCB", OURS, "River UCB", "at most", 1.0, 0.5),
        ),
        (_BARE, _LIVE),
    ),
    Check(
        "many-arms", "live EffRAWUCB with 100,000 arms", decisions.many_arms, ("Wall-clock time, the median of single calls.",)
    ),
    Check(
        "pending",
        "EffRAWUCB, K = 10, with many pending decisions",
        decisions.many_pending,
        ("Both bandits take turns; each figure is the fastest of many medians of 100 calls.",),
    ),
    Check("snapshot", "live EffRAWUCB while another thread takes its state", decisions.snapshots, (_BESIDE,)),
    Check(
        "stored-snapshot",
        "durable EffRAWUCB while snapshots of it are written; each decision is on the disk when the call returns",
        decisions.stored_snapshots,
        (_BESIDE,),
    ),
    Check(
        "durable",
        "an event that is on the disk when the call returns; wall-clock time",
        durable.measure,
        ("'SQLite itself' writes the same bytes into two columns, in the same mode, without digests and epochs.",),
    ),
    Check(
        "service",
        "rotting serve, EffRAWUCB, K = 10: a decision is on disk when the response arrives; clients on the same machine",
        service.measure,
        (
            "Each connection sends a request after each response; one more sends rewards, 100 or more at a time.",
            "The threads of `Client` and the tasks of `AsyncClient` send the reward of each decision in a request of its own.",
        ),
    ),
    Check(
        "many-bandits",
        "10,000 bandits of EffRAWUCB, K = 20, in one service",
        many.measure,
        ("The first bandit, which compiles the policy, is not counted.",),
    ),
    Check(
        "restart",
        "rotting serve after kill -9: from the start of the process until it is ready, and until a bandit is loaded",
        many.restart,
        ("Loading replays about 18,000 events of the one bandit. The best of several starts; compiled code is in the cache.",),
    ),
    Check(
        "memory",
        "exact RAWUCB's memory, simulated, live and saved",
        resources.memory,
        ("Each figure is measured in its own process. Growth is the growth of the resident memory after a short game.",),
    ),
    Check(
        "growth",
        "pull and update of a live RAWUCB on arms that fall steadily, sigma 0.1: hulls outgrow their room",
        resources.growth,
        (_CALLS,),
    ),
    Check(
        "compile",
        "compiling for the first time: import, a game and a live round in a process without a cache",
        resources.cold,
        ("CPU-seconds of the whole process. Before the hulls were introduced it took 23.",),
    ),
    Check(
        "drift",
        "a long game of EffRAWUCB(m=2), K = 10, rewards around 1e6",
        drift.measure,
        ("The quick size plays 1e7 rounds, the full size 1e8. The time includes Algorithm 2 in integer arithmetic.",),
    ),
    Race(
        "simulation",
        "whole simulations, K = 2 stationary Gaussian arms, T = 1e4, one core",
        simulation,
        (),
        (_STATIONARY,),
    ),
    Race("fewa", "exact FEWA, K = 10 (ten_arms), one core", filters("fewa", rotting.FEWA()), (), (_REWARDS, _ENGINE)),
    Race(
        "eff-fewa", "EffFEWA(m=2), K = 10 (ten_arms), one core", filters("eff-fewa", rotting.EffFEWA()), (), (_REWARDS, _ENGINE)
    ),
)
