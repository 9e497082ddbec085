"""The complexity measures that figure 6 compares with the paper's own, equation (18).

weights: the layers' matrices W_1, ..., W_L from input to output, shape (outputs, inputs);
a convolution's weight is reshaped to (outputs, -1), biases are left out unless a function takes
them. initial: the same at initialisation. margin: gamma, `margins.margin_percentile` of the
training margins. For two layers W_1 = U (H units) and W_2 = V (C classes).
"""
