"""The command line: thin, with lazy imports, so that `rotting --help` imports neither NumPy nor Numba."""

import argparse
import os
import sys
from collections.abc import Sequence

from rotting.cli.analyse_command import add_analyse
from rotting.cli.arguments import SYNTAX, Commands, Parser, UserError, help_formatter
from rotting.cli.paper_commands import add_reproduce, add_theory
from rotting.cli.simulation_commands import add_compile, add_list, add_rerun, add_simulate
from rotting.cli.store_commands import add_store_commands
from rotting.common.rules import suggest
from rotting.common.version import __version__
from rotting.errors import EngineError, MissingExtraError

FAILED, REFUSED, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141

EXAMPLES = f"""\
examples:
  rotting list policies
  rotting simulate --problem two-arms:L=0.3 --policy raw-ucb:alpha=1.4 ucb1 --horizon 2000 --runs 200
  rotting simulate --problem stationary:means=0.9/0.5,noise=bernoulli --policy ucb1:sigma=0.5 --horizon 1000 --json
  rotting theory two-arms:L=0.3 --horizon 2000
  rotting reproduce
  rotting analyse clicks.csv --arm creative --reward clicked --out report
  rotting serve songs.rot
  rotting verify songs.rot
  rotting copy songs.rot postgresql://user@host/database
  rotting backup songs.rot monday.rot
  rotting compile raw-ucb eff-raw-ucb

Policies and problems are written {SYNTAX}; `rotting list` lists them all.
"""


def _parser() -> tuple[argparse.ArgumentParser, list[str]]:
    """Return the parser, and the names of its commands."""
    about = "Multi-armed bandits whose arms wear out: simulate and compare policies, decide live, analyse logs."
    parser = Parser(prog="rotting", description=about, epilog=EXAMPLES, formatter_class=help_formatter, allow_abbrev=False)
    parser.add_argument("-V", "--version", action="version", version=f"rotting {__version__}")
    commands = Commands(parser)
    evaluating = add_list, add_simulate, add_rerun, add_theory, add_reproduce, add_analyse
    for add in (*evaluating, add_store_commands, add_compile):
        add(commands)
    return parser, commands.names


def _run(arguments: Sequence[str]) -> int:
    parser, names = _parser()
    if arguments and not arguments[0].startswith("-") and arguments[0] not in names:
        hint = suggest(arguments[0], names)
        raise UserError(f"command must be one of {', '.join(names)}, got {arguments[0]!r}{hint}")
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
    else:
        options.run(options)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 (failed), 2 (bad input), 130 (interrupted), 141 (broken pipe)."""
    try:
        try:
            code = _run(sys.argv[1:] if arguments is None else arguments)
        except SystemExit as end:  # argparse, after --help or --version
            code = end.code if isinstance(end.code, int) else FAILED
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a broken pipe is recognised
    except KeyboardInterrupt as stop:
        return _end(INTERRUPTED, ": ".join(["rotting: interrupted", *map(str, stop.args)]))
    except BrokenPipeError:
        # Standard output is closed: write nothing more to it, also when the interpreter shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except UserError as error:
        return _end(REFUSED, f"rotting: error: {error}")
    except (EngineError, MissingExtraError) as error:
        return _end(FAILED, f"rotting: error: {error}")
    except MemoryError as error:
        return _end(REFUSED, f"rotting: error: this needs more memory than there is: {error}")
    except OSError as error:
        return _end(FAILED, f"rotting: error: {error}")
    return code


def _end(code: int, message: str) -> int:
    print(" ".join(message.split()), file=sys.stderr)
    return code
