"""Measured work on real parts, each figure beside its floor. `python -m benchmarks --help`.

A benchmark reports and never asserts a time. The agent is a child process as in production; what it
did is told by an independent watch of the cluster, by its own metrics and by the API server's.
"""
