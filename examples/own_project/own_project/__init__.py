"""A project of one's own: a dataset, a network, a probe, an experiment, a claim and a figure."""
