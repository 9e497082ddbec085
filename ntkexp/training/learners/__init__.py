"""What is trained, and how one update of it is made."""
