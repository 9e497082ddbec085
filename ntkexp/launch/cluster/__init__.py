"""What a job of a sweep does on a cluster, and what SLURM says of it."""
