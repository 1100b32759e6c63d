"""The command line: thin, with lazy imports."""
