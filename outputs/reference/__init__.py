"""Results of finished runs, kept without weights. Installed as `ntkexp.reference`."""
