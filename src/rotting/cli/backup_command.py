"""`rotting backup`: a copy of a store, made while somebody writes."""

import argparse
from typing import TYPE_CHECKING

from rotting.cli.arguments import new_place, refusing_store
from rotting.cli.output import say

if TYPE_CHECKING:
    from rotting.cli.parsers import Command


def _backup(options: argparse.Namespace) -> None:
    copy = new_place("COPY", options.copy)
    with refusing_store():
        from rotting.store.backup import backup

        last = backup(options.file, copy)
    say(f"copied {last} events to {copy}; rotting log {copy} --verify plays them again")


def add(command: "Command") -> None:
    """Add the command to the parser."""
    more = "Works beside the program that writes the store. The copy is the store at one moment, whole; nothing is overwritten."
    backup = command("backup", _backup, "Copy a store, also while it is written to", more)
    backup.add_argument("file", metavar="FILE", help="the store, such as songs.rot")
    backup.add_argument("copy", metavar="COPY", help="the new file")
