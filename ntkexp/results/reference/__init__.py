"""Results that the repository keeps, and installs with the package."""
