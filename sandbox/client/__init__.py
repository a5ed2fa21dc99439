"""The pool of sandbox workers, which evaluate untrusted input and get no data of their user.

`Sandbox` (pool.py) is what others call; the program at the other end is sandbox/worker (Go). This
package imports nothing of ours, so that agent and service can both use it. What a recipe is and
where files come from is said by its users, see `Evaluation` and `EvaluationFiles`.
"""

from sandbox.client.confinement import Capability, SandboxUnconfinedError
from sandbox.client.errors import (
    SandboxBusyError,
    SandboxError,
    SandboxReason,
    WantedBase,
    WantedChart,
)
from sandbox.client.evaluation import Evaluation, EvaluationFiles, NoFiles, RecipeKey
from sandbox.client.limits import SandboxLimits
from sandbox.client.pool import Sandbox

__all__ = [
    "Capability",
    "Evaluation",
    "EvaluationFiles",
    "NoFiles",
    "RecipeKey",
    "Sandbox",
    "SandboxBusyError",
    "SandboxError",
    "SandboxLimits",
    "SandboxReason",
    "SandboxUnconfinedError",
    "WantedBase",
    "WantedChart",
]
