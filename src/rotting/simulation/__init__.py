"""Policies x runs on a problem, and what comes out of it."""
