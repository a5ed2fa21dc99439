"""The pool of sandbox workers: they evaluate what other people wrote and get nothing of ours.

`Sandbox` (pool.py) is the room's only public face; the program at the other end is sandbox/ (Go).
"""

from agent.sandbox.confinement import Capability, SandboxUnconfinedError
from agent.sandbox.limits import SandboxLimits
from agent.sandbox.pool import Sandbox
from agent.sandbox.reasons import SandboxError, SandboxReason

__all__ = [
    "Capability",
    "Sandbox",
    "SandboxError",
    "SandboxLimits",
    "SandboxReason",
    "SandboxUnconfinedError",
]
