"""Timings: of kernels, steps, loggers and threads, each beside other ways to the same numbers."""
