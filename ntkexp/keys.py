"""Keys of a config that are no part of what a run computes."""

# Keys that say how or where a run is made, never what comes out of it.
EXECUTION_KEYS = (
    "device",
    "cuda_graph",
    "paths",
    "checkpoint",
    "progress",
    "rerun",
    "with_parents",
    "launcher",
    "objective_metric",
    "logger",
    "probing.check",
    "keep.work",
)
DESCRIPTION_KEYS = ("about", "figures", "stands_in_for")
