"""What the larger probes compute: the numbers behind the options, one file a probe."""
