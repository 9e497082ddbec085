"""How much memory there is, how much a kernel takes, and scratch memory that is used again."""
