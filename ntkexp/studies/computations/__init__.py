"""What the studies compute: the numbers behind the options, one file a study."""
