"""A policy at work inside somebody's program."""
