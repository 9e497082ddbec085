"""Linearised networks, trained through their kernel: no network takes part."""
