"""How gradients become changes of the weights."""
