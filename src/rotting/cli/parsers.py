"""The argument parsers of the command and its subcommands, whose errors are one line."""

import argparse
import textwrap
from collections.abc import Callable
from typing import NoReturn

from rotting.cli.arguments import UserError


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise a `UserError`, without the usage that argparse prints."""
        raise UserError(f"{message} (see {self.prog} --help)")


def help_formatter(prog: str) -> argparse.HelpFormatter:
    """Return a help formatter that keeps the line breaks of descriptions."""
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=28)


class Commands:
    """The subcommands of a parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)

    def add(self, name: str, run: Callable[[argparse.Namespace], None], about: str, more: str = "") -> argparse.ArgumentParser:
        """Add a command that calls `run`, and return its parser; its help shows `about` and `more`."""
        description = textwrap.fill(f"{about}. {more}".strip(), 79)
        added = self._commands.add_parser(
            name, help=about, description=description, formatter_class=help_formatter, allow_abbrev=False
        )
        added.set_defaults(run=run)
        return added

    @property
    def names(self) -> list[str]:
        """The commands added so far."""
        return list(self._commands.choices)
