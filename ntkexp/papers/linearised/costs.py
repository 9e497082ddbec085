"""The cost of each experiment: time of one core, from steps that were timed on a busy machine."""

COSTS: dict[str, str] = {
    "linearised/pairs_mlp": "25 minutes a seed",
    "linearised/pairs_mlp_mnist": "30 minutes",
}
