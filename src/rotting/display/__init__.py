"""Output for people: tables, figures, plots."""
