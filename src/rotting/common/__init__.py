"""What every package uses: array types, rules for parameters, files, progress, statistics."""
