"""A mutation tester: change the code in one small place, and see whether a test fails.

`make mutants` runs it. Tools that exist see nothing inside compiled kernels, so the tests run here without the compiler. Each
mutant meets the tests that execute its line, and then the others of the folder that mirrors its package, until one fails,
in a process forked from one that has the slow imports behind it.

    edits.py        the small changes, found in the syntax tree and made in the text
    reach.py        which test executes which line
    trial.py        one mutant against its tests, in a forked process
    verdicts.py     what became of the mutants, and which of them no test could tell from the original
"""
