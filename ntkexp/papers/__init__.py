"""Papers: a folder each, with what one work says and the numbers that decide it.

    papers/lazy/__init__.py     TITLE, AUTHORS and SHORT, plain strings
    papers/lazy/claims.py       CLAIMS, its statements (or a folder of files that each have some)
    papers/lazy/costs.py        COSTS, what its experiments cost, if that was measured

Beside them a paper has experiments (configs/exp/lazy/) and figures (scripts/lazy/). The main paper
is `alignment`; its experiments lie in configs/exp itself. Papers are found by their folders, here
and in projects of one's own (`found.py`), and their claims are imported when they are asked for.
"""
