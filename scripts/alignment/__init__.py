"""The main paper's figures: a file each, named after its number there."""
