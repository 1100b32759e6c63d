"""Bandits whose decisions outlive the process: stores, the HTTP service and its client."""
