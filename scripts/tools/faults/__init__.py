"""What torture.py is made of: disturbed lives of real runs, and what became of them."""
