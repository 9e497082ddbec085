"""A network's tangent features, multiplied by a matrix that adapts to the labels."""

TITLE = "An Adaptive Tangent Feature Perspective of Neural Networks"
AUTHORS = "LeJeune, Alemohammad"
SHORT = "Adaptive tangent features"
