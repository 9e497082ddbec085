"""A project of one's own: a dataset, a network, a probe, an experiment and a figure."""
