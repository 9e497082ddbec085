"""Linearised networks trained on the gradients of all examples, which stay in memory."""
