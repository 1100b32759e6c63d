"""Parsers whose errors are one line."""

import argparse
import textwrap
from collections.abc import Callable
from typing import NoReturn

from rotting.cli.arguments import UserError


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise the error in one line, without the usage."""
        raise UserError(f"{message} (see {self.prog} --help)")


def raw(prog: str) -> argparse.HelpFormatter:
    """Return a help formatter that keeps the texts as they are written."""
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=28)


class Command:
    """Adds commands to the parser: `command(name, run, about, more)` returns the new command's own parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)

    def __call__(
        self, name: str, run: Callable[[argparse.Namespace], None], about: str, more: str = ""
    ) -> argparse.ArgumentParser:
        """Add a command and return its parser."""
        description = textwrap.fill(f"{about}. {more}".strip(), 79)
        added = self._commands.add_parser(name, help=about, description=description, formatter_class=raw, allow_abbrev=False)
        added.set_defaults(run=run)
        return added

    @property
    def names(self) -> list[str]:
        """The commands added so far."""
        return list(self._commands.choices)
