"""A GPU that is none: what runs do on one, tried on every machine."""
