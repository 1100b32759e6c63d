"""The report of experiments: one HTML file, and every figure and table as files of their own."""
