"""The figures of lazy, one file each."""
