"""One page that shows everything: claims, figures, runs to explore, benchmarks."""
