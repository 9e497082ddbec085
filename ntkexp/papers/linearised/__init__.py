"""How far the linearisation of a network foretells what the network itself learns."""

TITLE = "What can linearized neural networks actually say about generalization?"
AUTHORS = "Ortiz-Jimenez, Moosavi-Dezfooli, Frossard (NeurIPS 2021)"
SHORT = "What linearised networks can say"
