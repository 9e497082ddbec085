"""Images in tenths by a difficulty score."""
