"""The configurations: one folder a choice, one file an option. Installed as ntkexp.configs."""
