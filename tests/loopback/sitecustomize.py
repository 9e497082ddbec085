"""Refuses what reaches beyond this machine, and notes it in the file that the environment names.

tests/conftest.py puts this folder on PYTHONPATH: Python imports `sitecustomize` when it starts, so
the processes that a test starts are watched like the test itself. A test with a note fails.
"""

import os
import sys

NOTES = "NTKEXP_TESTS_REACHED"
FOLDER = "tests/loopback"
PROGRAMS = ("python", "python3", os.path.basename(sys.executable), "ntkexp")  # noqa: PTH119
# Where in the arguments of an audit event the address or the name of a host is.
CONNECTS = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1}
RESOLVES = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.gethostbyaddr": 0}
HERE = ("localhost", "::1", "127.", "0.0.0.0")


def watch(event, arguments):
    if event in CONNECTS:
        address = arguments[CONNECTS[event]]
        # A path is that of a Unix socket, and a pair of numbers is the kernel's.
        if isinstance(address, tuple) and not is_here(address[0]):
            refuse(f"{event} {address}")
    elif event in RESOLVES and not is_here(arguments[RESOLVES[event]]):
        refuse(f"{event} {arguments[RESOLVES[event]]}")
    elif event == "subprocess.Popen" and os.fsdecode(arguments[0]).endswith(PROGRAMS):
        environment = os.environ if arguments[3] is None else arguments[3]
        if FOLDER not in environment.get("PYTHONPATH", "") or NOTES not in environment:
            refuse(f"starts {arguments[1]} without {FOLDER} on PYTHONPATH or without {NOTES}")


def is_here(host):
    name = host.decode() if isinstance(host, bytes) else host
    return not isinstance(name, str) or name == "" or name.startswith(HERE)


def refuse(what):
    with open(os.environ[NOTES], "a") as file:  # noqa: PTH123
        file.write(f"{what}\n")
    raise ConnectionRefusedError(f"a test may not reach beyond this machine: {what}")


sys.addaudithook(watch)
