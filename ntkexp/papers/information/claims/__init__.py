"""What the work says, a file a subject."""
