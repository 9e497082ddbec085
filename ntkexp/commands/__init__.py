"""The commands: each with its flags and their sentences, and what it does.

A file that holds one imports nothing heavy before the command is executed: help and the tab key are
there at once.
"""
