"""Figures, a folder a paper, benchmarks, and tools. Installed as `ntkexp.scripts`."""
