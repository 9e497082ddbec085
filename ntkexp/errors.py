"""The one exception for what a user can mend: its message is the whole answer."""


class UserError(Exception):
    """Bad input. The message names the key, file or layer, what came, and what is accepted.

    The command line prints it in one or two lines and exits with 2; no traceback.
    """
