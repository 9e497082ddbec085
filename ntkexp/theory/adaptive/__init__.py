"""Adaptive tangent features: LeJeune and Alemohammad, "An Adaptive Tangent Feature Perspective of
Neural Networks". Equations are numbered as in that paper.

A model that is linear in its tangent features at initialisation, f = f_0 + J M (theta - theta_0),
whose features a matrix M transforms; M is free, but pays for leaving the identity.
"""
