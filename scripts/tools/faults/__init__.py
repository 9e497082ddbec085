"""The parts of torture.py: disturbed lives of real runs, and what became of them."""
