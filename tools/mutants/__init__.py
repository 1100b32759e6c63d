"""A mutation tester: change the code in one small place, and see whether a test fails.

`make mutants` runs it. Existing tools cannot look into compiled kernels, so the tests run here without the compiler. Each
mutant is tested in a forked process, which need not import slow packages again. First come the tests that execute its line,
then the others of the folder that mirrors its package, until one fails.

    edits.py        the small changes, found in the syntax tree and made in the text
    reach.py        which test executes which line
    trial.py        one mutant against its tests, in a forked process
    verdicts.py     the verdicts on the mutants, and which of them no test can distinguish from the original
"""
