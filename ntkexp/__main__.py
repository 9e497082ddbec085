"""`python -m ntkexp` is `ntkexp`."""

from ntkexp.cli import main

raise SystemExit(main())
