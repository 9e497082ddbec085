"""The formulas of "What can linearized neural networks actually say about generalization?"."""
