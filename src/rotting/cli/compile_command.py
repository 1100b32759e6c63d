"""`rotting compile`: compile policies ahead of time, for example for a container image."""

import argparse
import time

from rotting.cli.arguments import SYNTAX, UserError, read_policies, read_problem
from rotting.cli.output import say
from rotting.cli.parsers import Commands


def _compile(options: argparse.Namespace) -> None:
    policies = read_policies(options.policy)
    problem = read_problem(options.problem, None)

    from rotting.engines.game_start import compile_game
    from rotting.live.bandit import Bandit
    from rotting.simulation.plan import Simulation, plan

    for policy in policies:
        began = time.perf_counter()
        (game,), _ = plan(Simulation(policy, problem, runs=1)).games()
        if not compile_game(game):
            raise UserError("compiled code must be kept on disk, but the cache of Numba cannot be written, or is turned off")
        if not policy.sees_means:  # else it cannot decide live
            Bandit(policy, arms=[0, 1], compile="now").warm_up()
        say(f"compiled {policy.name} in {time.perf_counter() - began:.2f} s")


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    more = (
        "Later processes load the machine code from a cache on disk; the environment variable NUMBA_CACHE_DIR sets its folder. "
        "The code is for this kind of machine and this version, for live decisions, and for simulations with the noise of "
        "the problem."
    )
    added = commands.add("compile", _compile, "Compile policies ahead of time", more)
    added.add_argument("policy", nargs="+", metavar="POLICY", help=f"written {SYNTAX}")
    added.add_argument("--problem", default="two-arms", metavar="PROBLEM", help="as for simulate; default: two-arms")
