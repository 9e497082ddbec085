"""Numbers of a run, of its curves, and of runs beside each other."""
