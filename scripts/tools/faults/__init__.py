"""A campaign of faults at the system calls of real commands; campaign.py has the command."""
