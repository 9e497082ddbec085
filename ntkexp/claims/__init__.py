"""Does it reproduce the papers? Every statement of their texts, with the number that decides it.

Here is what all papers share: what a claim is, how it is judged, how verdicts are printed. The
claims themselves lie with their papers (ntkexp/papers). No verdict is written by hand.
"""
