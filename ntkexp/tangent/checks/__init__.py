"""Whether a model has a tangent kernel as this package means it; what has been shown is kept."""
