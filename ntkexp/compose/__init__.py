"""From the words of a command line to the config of a run, composed, shrunk, checked."""
