"""What changes the weights by a gradient; options stand one folder up, without PyTorch."""
