"""The statements of the main paper, one file a group of figures.

In three sections: the paper's statements, the curves of its authors' notebooks, and identities.
"""
