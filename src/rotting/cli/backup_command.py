"""`rotting backup`: copy a store, even while it is being written to."""

import argparse

from rotting.cli.arguments import new_path, user_errors_of_store
from rotting.cli.output import say
from rotting.cli.parsers import Commands


def _backup(options: argparse.Namespace) -> None:
    copy = new_path("COPY", options.copy)
    with user_errors_of_store():
        from rotting.store.backup import backup

        last = backup(options.file, copy)
    say(f"copied {last} events to {copy}; check it with: rotting log {copy} --verify")


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    more = "Another program may be writing to the store. The copy is the store as it was at one moment; no file is overwritten."
    backup = commands.add("backup", _backup, "Copy a store, even while it is being written to", more)
    backup.add_argument("file", metavar="FILE", help="the store, such as songs.rot")
    backup.add_argument("copy", metavar="COPY", help="the new file")
