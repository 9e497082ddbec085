"""The figures of linearised, one file each."""
