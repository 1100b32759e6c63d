"""Helpers for every package: array types, rules for parameters, files, progress, statistics."""
