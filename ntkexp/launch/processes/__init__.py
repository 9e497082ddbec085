"""Jobs as processes of one machine: forked, watched, and given their share of it."""
