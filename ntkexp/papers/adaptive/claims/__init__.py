"""The statements of the paper: those of its figures, of its text, and under other readings.

Every network of a run of members is a case of its own; its seed tells it apart, and a pair of
networks trained on linear targets and on their signs has one seed.
"""
