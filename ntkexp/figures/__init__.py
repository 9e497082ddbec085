"""`ntkexp figures`: every figure that has its runs."""
