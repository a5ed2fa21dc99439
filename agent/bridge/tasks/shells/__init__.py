"""Shells in containers: the task kind `exec`.

It is the only task that reads input while it runs, and the only output that is not masked: whoever
has a shell can read what the container can.
"""
