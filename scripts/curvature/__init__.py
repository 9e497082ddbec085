"""The figures of curvature, one file each."""
