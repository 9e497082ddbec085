"""Which packages there are is found by their folders; all else stands in setup.cfg.

Of scripts/ a wheel takes the figures; what developers run stays in the repository.
"""

from setuptools import find_packages, setup

FIGURES = find_packages(include=["scripts", "scripts.*"], exclude=["scripts.tools*"])

setup(
    packages=[
        *find_packages(include=["ntkexp", "ntkexp.*"]),
        "ntkexp.configs",
        "ntkexp.reference",
        *(f"ntkexp.{name}" for name in FIGURES),
    ]
)
