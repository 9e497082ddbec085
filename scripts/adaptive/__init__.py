"""The figures of adaptive, one file each."""
