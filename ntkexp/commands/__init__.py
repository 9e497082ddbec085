"""The commands: each with its flags and their sentences, and what it does."""
