"""Yahoo!'s nights: news articles whose click rates fall from evening to morning, as restless problems."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from rotting import registry
from rotting.common.arrays import Floats
from rotting.common.display.figures import BAND, Curve, Figure, Panel, regret_panel
from rotting.common.display.tables import FormattedTable, interval_column, value_column
from rotting.common.statistics import Interval, mean_interval
from rotting.errors import DataWarning, MissingDataError
from rotting.paper.datasets import VARIANCE, VARIATION, Night, Nights, synthetic_nights, yahoo_nights
from rotting.paper.datasets.nights import DISPLAYS
from rotting.paper.experiments import CITATION, Experiment, Prepared, Results, final_regret, mean_regrets, regret_at
from rotting.paper.report.claims import Statement, estimate_text
from rotting.paper.report.model import Findings
from rotting.policies.exp3_s import Exp3S
from rotting.policies.glr_ucb import GLRUCB
from rotting.policy import Policy
from rotting.simulation.comparisons import Comparison, growth, mean_ratio, smallest_ratio, spread_ratio
from rotting.simulation.plan import Simulation

SIGMA = VARIANCE**0.5
HARD, EASY = 2, 7  # the nights in the paper's main figure
RAW, RAW_2, RAW_4 = "EFF-RAW-UCB 1.4, m = 1.1", "EFF-RAW-UCB 1.4, m = 2", "EFF-RAW-UCB 4, m = 1.1"
FEWA, FEWA_4, EXP3_S, GLR = "EFF-FEWA 0.06", "EFF-FEWA 4", "Exp3.S", "GLR-UCB"
BEST, OTHERS = "the best article", "the other articles"


@dataclass(frozen=True)
class Settings:
    """Everything that decides the results, apart from the data."""

    runs: int
    timed_nights: tuple[int, ...]  # the nights in which times are measured; all of them if none of these is there
    seed: int = 0


SIZES = {"quick": Settings(runs=4, timed_nights=(HARD, EASY)), "full": Settings(runs=500, timed_nights=tuple(range(2, 10)))}


def policies(horizon: int) -> dict[str, Policy]:
    """Return the policies, tuned as the paper says; Exp3.S gets its rewards scaled from [0, 10] to [0, 1]."""

    def tuned(name: str, alpha: float, m: float) -> Policy:
        return registry.make(name, alpha=alpha, sigma=SIGMA, m=m)

    return {
        RAW: tuned("eff-raw-ucb", 1.4, 1.1),
        RAW_2: tuned("eff-raw-ucb", 1.4, 2.0),
        RAW_4: tuned("eff-raw-ucb", 4.0, 1.1),
        FEWA: tuned("eff-fewa", 0.06, 1.1),
        FEWA_4: tuned("eff-fewa", 4.0, 1.1),
        EXP3_S: Exp3S(horizon=horizon, budget=VARIATION, low=0.0, high=float(DISPLAYS)),
        GLR: GLRUCB(horizon=horizon, sigma=SIGMA),
    }


LABELS = tuple(policies(200_000))

# The paper's last table, in the order of LABELS, which is that of its columns. Its third column is headed EFF-FEWA
# (alpha = 4, m = 1.1), but is EFF-RAW-UCB's in the authors' script, and its times are those of the first.
PAPER_SECONDS = {
    2: (67, 35, 65, 143, 337, 56, 560),
    3: (66, 33, 65, 175, 308, 53, 613),
    4: (90, 43, 90, 223, 391, 67, 683),
    5: (86, 47, 88, 159, 473, 77, 2421),
    6: (91, 46, 91, 183, 487, 75, 707),
    7: (74, 41, 74, 115, 380, 69, 1529),
    8: (88, 44, 89, 193, 428, 71, 957),
    9: (64, 34, 63, 116, 341, 55, 971),
}


def load(workers: int | None = None, progress: bool | None = None) -> tuple[Nights, tuple[str, ...]]:
    """Return the user's nights, or else the synthetic ones, and notes about them."""
    synthetic = "These nights are SYNTHETIC: drawn to resemble the paper's, which Yahoo! does not allow to be passed on."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # it is in the notes
            nights = yahoo_nights(workers=workers, progress=progress)
    except MissingDataError as error:
        notes = [f"With your copy of the data, this section shows the paper's nights: {error}."]
    else:
        if nights:
            return nights, tuple(nights.notes)
        notes = nights.notes  # they say why the files hold no complete night
    return synthetic_nights(), (synthetic, *notes)


def game_name(number: int) -> str:
    """Return the name of the games of a night."""
    return f"night-{number}"


def prepare(settings: Settings, workers: int | None, progress: bool | None) -> Prepared:
    """Play every night with every policy."""
    nights, notes = load(workers, progress)
    problems = {number: night.problem() for number, night in nights.items()}

    def games(numbers: Iterable[int], runs: int) -> dict[str, Simulation]:
        return {
            game_name(number): Simulation(
                tuple(policies(nights[number].horizon).values()), problems[number], runs=runs, seed=settings.seed
            )
            for number in numbers
        }

    timed = [number for number in nights if number in settings.timed_nights] or list(nights)
    return Prepared(games(nights, settings.runs), notes, nights, games(timed, 1))


def findings(settings: Settings, prepared: Prepared, results: Results) -> Findings:
    """Return the paper's figures, a table, and the paper's claims."""
    nights: Nights = prepared.data
    title = "synthetic nights" if nights.synthetic else "nights"
    figures = _figures(nights, results, title)
    measured = _Measured(nights, results, prepared.times)
    statements = STATEMENTS + (EASY_NIGHT_STATEMENTS if EASY in nights else ())
    return Findings(
        paragraphs=(
            (
                "A round shows an article to ten users and pays their clicks, Binomial(10, p) with p the article's click rate "
                "at that moment of the night. Rates are those of every article available all night, unaltered: "
                "they need not fall, or be constant between changes. "
                f"{len(nights)} {title}, {settings.runs:,} runs of each policy."
            ),
            (
                "Where the paper is silent or wrong, we follow the authors' code: a night is 6 pm to 6 am Eastern daylight "
                "time, 22:00 to 10:00 UTC; EFF-FEWA has m = 1.1. Unlike there, Exp3.S gets rewards scaled to [0, 1], and is "
                "tuned by T and V, as the text says: the authors' script tunes it by T alone, gamma = sqrt(K ln(KT) / T)."
            ),
        ),
        figures=figures,
        tables={"regret-by-night": _table(nights, results)},
        claims=(
            *(statement.decide(measured, nights.synthetic, settings.runs) for statement in statements),
            *(statement.decide(measured, nights.synthetic, prepared.repeats) for statement in TIME_STATEMENTS),
        ),
        covers={
            item: name
            for item, name in {
                "Main text, figure: Yahoo!, rewards and regret of days 2 and 7": "two-nights",
                "Appendix, figures, left: rewards of days 2 to 9": "click-rates",
                "Appendix, figures, right: regret of days 2 to 9": "regret",
            }.items()
            if name in {figure.name for figure in figures}
        },
    )


def _figures(nights: Nights, results: Results, title: str) -> tuple[Figure, ...]:
    """Return click rates and regret of the hard and the easy night, if they are there, and of all nights."""
    pairs = [
        panel
        for number, words in ((HARD, "hard"), (EASY, "easy"))
        if number in nights
        for panel in (
            _rewards(nights[number], f"{nights[number].label}, {words}: click rates"),
            _regret(nights[number], results, f"{nights[number].label}, {words}: regret"),
        )
    ]
    caption = f"Click rates: the mean of a round's reward over ten. Regret: {BAND}."
    rates = tuple(_rewards(night, night.label) for night in nights.values())
    regrets = tuple(_regret(night, results, night.label) for night in nights.values())
    return (
        *([Figure("two-nights", f"A hard and an easy night ({title})", caption, tuple(pairs), 2, LABELS)] if pairs else []),
        Figure(
            "click-rates", f"Click rates of all {title}", "Every article, and the best one at each moment.", rates, 4, LABELS
        ),
        Figure("regret", f"Regret of all {title}", f"The {BAND}.", regrets, 4, LABELS),
    )


def _regret(night: Night, results: Results, title: str) -> Panel:
    result = results[game_name(night.number)]
    return regret_panel(title, LABELS, result.checkpoints, result.regret)


def _rewards(night: Night, title: str) -> Panel:
    rounds = night.rounds
    starts = np.cumsum(rounds) - rounds + 1
    curves = [Curve(OTHERS, starts, row) for row in night.probabilities]
    return Panel(title, "round t", "click rate", (*curves, Curve(BEST, starts, night.probabilities.max(axis=0))))


def _table(nights: Nights, results: Results) -> FormattedTable:
    rows = []
    for night in nights.values():
        regrets = mean_regrets(results[game_name(night.number)], LABELS)
        rows.append({"night": night.number, "K": night.n_arms, "T": night.horizon, **regrets})
    heads = (
        value_column("night"),
        value_column("K"),
        value_column("T", ","),
        *(interval_column(label, ",.0f") for label in LABELS),
    )
    kind = "synthetic nights: mean" if nights.synthetic else "mean"
    return FormattedTable((f"{kind.capitalize()} regret at the end (clicks), and its 95 % interval",), heads, rows)


@dataclass(frozen=True, eq=False)
class _Measured:
    """The measurements that decide the claims."""

    nights: Nights
    results: Results
    times: Mapping[str, Floats]

    def regret(self, label: str) -> Floats:
        """Return `[night, run]`, the regret of a policy at the end."""
        return final_regret([self.results[game_name(number)] for number in self.nights], LABELS.index(label))

    def time_over(self, upper: str, lower: str) -> Interval:
        """Return the time per round of one policy over another's: the mean over nights, its interval over repeats."""
        upper_place, lower_place = LABELS.index(upper), LABELS.index(lower)
        ratios = [times[:, upper_place] / times[:, lower_place] for times in self.times.values()]
        return mean_interval(np.mean(ratios, axis=0))

    def doublings(self, label: str) -> list[Floats]:
        """Return the regret on the easy night at T/4, T/2 and T, in each run."""
        return regret_at(self.results[game_name(EASY)], LABELS.index(label), 0.25, 0.5, 1.0)


Measure = Callable[[_Measured], Interval]


def _over(upper: str, lower: str, ratio: Comparison) -> Measure:
    """Return a function that measures the regret of one policy over that of another."""
    return lambda measured: ratio(measured.regret(upper), measured.regret(lower))


def _ratio(upper: str, lower: str, ratio: Comparison) -> tuple[str, Measure]:
    """Return the mean or the smallest ratio of the regrets of two policies: in words, and the function that measures it."""
    how = "smallest" if ratio is smallest_ratio else "geometric mean"
    names = [label.removesuffix(", m = 1.1") for label in (upper, lower)]
    return f"regret of {names[0]} over {names[1]}, {how} over the nights", _over(upper, lower, ratio)


def _easy_over_others(measured: _Measured) -> Interval:
    """Return the ratio of the regrets of Exp3.S and RAW-UCB on the easy night, over that ratio on the others."""
    easy = list(measured.nights).index(EASY)
    order = [easy, *(k for k in range(len(measured.nights)) if k != easy)]
    upper, lower = measured.regret(EXP3_S)[order], measured.regret(RAW)[order]
    return mean_ratio(upper, lower, lambda ratios: float(ratios[0] / np.exp(np.log(ratios[1:]).mean())))


def _paper_times(measured: _Measured) -> str:
    """Return the ratio of the times that the paper prints."""
    glr, raw = (LABELS.index(label) for label in (GLR, RAW))
    ratios = np.array([seconds[glr] / seconds[raw] for seconds in PAPER_SECONDS.values()])
    return f"By the seconds that the paper prints: {estimate_text(mean_interval(ratios))}."


TIMED = "mean over the nights that were timed"
VS_FEWA, VS_EXP3_S, VS_GLR = (f"experiment on Yahoo!, RAW-UCB vs {peer}" for peer in ("FEWA", "Exp3.S", "GLR-UCB"))
STATEMENTS: tuple[Statement[_Measured], ...] = (
    Statement(
        "nights-raw-beats-fewa",
        VS_FEWA,
        "RAW-UCB consistently outperforms FEWA on the restless benchmark (empirical tuning).",
        *_ratio(FEWA, RAW, smallest_ratio),
        low=1.0,
    ),
    Statement(
        "nights-raw-4-beats-fewa-4",
        VS_FEWA,
        "The theoretical tuning of RAW-UCB gets reasonable results, while theoretical FEWA is impractical.",
        *_ratio(FEWA_4, RAW_4, mean_ratio),
        low=2.0,
    ),
    Statement(
        "nights-tuned-fewa-varies",
        VS_FEWA,
        "Tuned FEWA shows larger deviations on the restless benchmark.",
        "standard deviation of the regret of EFF-FEWA 0.06 over EFF-RAW-UCB 1.4, geometric mean over the nights",
        _over(FEWA, RAW, spread_ratio),
        low=1.0,
    ),
    Statement(
        "nights-raw-tuning",
        VS_FEWA,
        "The empirical tuning 1.4 shows good performance also on restless problems: better than 4.",
        *_ratio(RAW_4, RAW, mean_ratio),
        low=1.0,
    ),
    Statement(
        "nights-raw-beats-exp3s",
        VS_EXP3_S,
        "Exp3.S is consistently outperformed by RAW-UCB with tuned confidence bounds.",
        *_ratio(EXP3_S, RAW, smallest_ratio),
        low=1.0,
    ),
    Statement(
        "nights-glr-similar",
        VS_GLR,
        "On the restless benchmark, GLR-UCB shows results similar to RAW-UCB's.",
        *_ratio(GLR, RAW, mean_ratio),
        low=0.67,
        high=1.5,
    ),
    Statement(
        "nights-m-costs-regret",
        "appendix, the numerical cost of adaptive windows",
        "m trades regret for speed: a larger m costs regret.",
        "regret of EFF-RAW-UCB with m = 2 over m = 1.1, both 1.4, geometric mean over the nights",
        _over(RAW_2, RAW, mean_ratio),
        low=1.0,
    ),
)
TIME_STATEMENTS: tuple[Statement[_Measured], ...] = (
    Statement(
        "nights-raw-faster-than-glr",
        VS_GLR,
        "The efficient RAW-UCB runs about 10 times faster than GLR-UCB.",
        f"time per round of GLR-UCB over EFF-RAW-UCB (m = 1.1), {TIMED}",
        lambda measured: measured.time_over(GLR, RAW),
        low=5.0,
        high=20.0,
        not_comparable="other code than the paper's: our GLR-UCB looks only at the vertices of hulls",
        compare=_paper_times,
    ),
    Statement(
        "nights-raw-faster-than-fewa",
        VS_FEWA,
        "RAW-UCB is faster to run than FEWA.",
        f"time per round of EFF-FEWA 0.06 over EFF-RAW-UCB 1.4, both m = 1.1, {TIMED}",
        lambda measured: measured.time_over(FEWA, RAW),
        low=1.0,
    ),
    Statement(
        "nights-m-saves-time",
        "appendix, the numerical cost of adaptive windows",
        "m trades regret for speed: a larger m saves time.",
        f"time per round of EFF-RAW-UCB with m = 1.1 over m = 2, both 1.4, {TIMED}",
        lambda measured: measured.time_over(RAW, RAW_2),
        low=1.0,
    ),
)
EASY_NIGHT_STATEMENTS: tuple[Statement[_Measured], ...] = (
    Statement(
        "nights-easy-logarithmic",
        "experiment on Yahoo!, results",
        "On the easy night, RAW-UCB's regret grows like log t.",
        "regret from T/2 to T over regret from T/4 to T/2 on night 7: 1 for log t, 1.41 for sqrt(t), 2 for t",
        lambda measured: growth(*measured.doublings(RAW)),
        high=1.2,
        needs_its_data="what makes night 7 easy is in Yahoo!'s data: one article is the best by far",
    ),
    Statement(
        "nights-exp3s-worse-on-easy",
        VS_EXP3_S,
        "RAW-UCB outperforms Exp3.S particularly on easy instances, such as night 7.",
        "regret of Exp3.S over EFF-RAW-UCB 1.4 on night 7, over its geometric mean on the other nights",
        _easy_over_others,
        low=1.0,
    ),
)


REFERENCE = f"{CITATION}: experiment on Yahoo! Front Page, and its appendix"
EXPERIMENT = Experiment("restless-nights", "Eight nights of news articles", REFERENCE, SIZES, prepare, findings, 4)
