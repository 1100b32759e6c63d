"""The paper and what belongs to it: its experiments, theorems, report and data sets."""
