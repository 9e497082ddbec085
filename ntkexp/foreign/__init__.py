"""Networks, checkpoints and examples that other code made (`ntkexp probe`)."""
