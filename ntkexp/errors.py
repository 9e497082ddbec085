"""What can go wrong in ways that a user should hear about in one line."""


class UserError(Exception):
    """Bad input. The message names the key, file or layer, what came, and what is accepted.

    The command line prints it in one or two lines and exits with 2; no traceback.
    """


class Interrupted(Exception):
    """Asked to stop by a signal; everything up to here is committed."""


class Diverged(Exception):
    """The loss is no number any more."""

    def __init__(self, step: int, last_finite: float) -> None:
        super().__init__(f"the loss is not finite at step {step}; before it was {last_finite:.6g}")
        self.step, self.last_finite = step, last_finite
