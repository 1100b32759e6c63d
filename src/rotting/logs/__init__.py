"""Logs of past decisions: which arms wear out and along which clock, and what other policies would have earned."""
