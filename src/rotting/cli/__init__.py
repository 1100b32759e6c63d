"""The command `rotting`; one file a command."""

from rotting.cli.command_line import main as main
