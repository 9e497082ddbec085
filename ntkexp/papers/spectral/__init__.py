"""Networks learn low frequencies first: chapter 3 and appendix A of Baratin's thesis."""

TITLE = "On the Spectral Bias of Neural Networks"
AUTHORS = "Rahaman, Baratin, Arpit, Draxler, Lin, Hamprecht, Bengio, Courville"
SHORT = "Spectral bias"
