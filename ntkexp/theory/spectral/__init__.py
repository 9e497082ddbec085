"""The formulas of "On the Spectral Bias of Neural Networks" (Rahaman, Baratin et al., 2019)."""
