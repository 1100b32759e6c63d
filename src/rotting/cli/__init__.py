"""The command `rotting`."""

from rotting.cli.command_line import main as main
