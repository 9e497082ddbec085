"""What scripts/mutate.py is made of: changes of one token, and the tests that can notice them."""
