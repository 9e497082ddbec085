"""Where a result comes from: code, command, versions, hardware, times."""
