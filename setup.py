"""Which packages there are is found by their folders; all else stands in setup.cfg."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["ntkexp", "ntkexp.*"]),
        "ntkexp.configs",
        "ntkexp.reference",
        *(f"ntkexp.{name}" for name in find_packages(include=["scripts", "scripts.*"])),
    ]
)
