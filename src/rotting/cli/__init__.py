"""The command `rotting`; each subcommand has its own file."""

from rotting.cli.command_line import main as main
