"""Points that are computed: the disk, the yin-yang, the examples of three points."""
