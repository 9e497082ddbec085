"""Mutual information by neural networks: chapter 5 and appendix C of Baratin's thesis."""

TITLE = "Mutual Information Neural Estimation"
AUTHORS = "Belghazi, Baratin, Rajeswar, Ozair, Bengio, Courville, Hjelm"
SHORT = "Mutual information"
