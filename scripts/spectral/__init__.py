"""The figures of spectral, one file each."""
