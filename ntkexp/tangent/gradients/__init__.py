"""The features (per-example gradients) of every parameter, by the quickest way that is right."""
