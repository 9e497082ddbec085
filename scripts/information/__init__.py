"""The figures of information, one file each."""
