"""The paper's formulas as pure functions: numpy in, numpy out, float64, one formula each."""
