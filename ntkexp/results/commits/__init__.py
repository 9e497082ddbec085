"""How files of results are written so that a kill at any moment loses nothing."""
