"""What people look at: tables, figures, plots."""
