"""The main paper: tangent features align with the labels while a network learns."""

TITLE = "Implicit Regularization via Neural Feature Alignment"
AUTHORS = "Baratin, George, Laurent, Hjelm, Lajoie, Vincent, Lacoste-Julien (AISTATS 2021)"
SHORT = "Neural feature alignment"
