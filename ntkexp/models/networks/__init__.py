"""The networks themselves; their options stand one folder up, where no PyTorch is loaded."""
