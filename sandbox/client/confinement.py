"""Confinement takes rights away from a worker, as far as this machine permits.

A worker says at its start what it could take away from itself (its package `confinement`). It gets
no work unless that is everything, because it evaluates what strangers wrote. Where a kernel or a
container runtime lacks something, the owner may name it in a setting, and it is then said aloud.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import structlog

from sandbox.client.binary import SandboxMissingError

log = structlog.get_logger()


class Capability(StrEnum):
    """Mirror of the names in sandbox/worker/internal/confinement."""

    RLIMIT_AS = "rlimit_as"
    NO_CORE = "no_core"
    NO_NEW_PRIVS = "no_new_privs"
    SECCOMP = "seccomp"

    @property
    def loss(self) -> str:
        """What an evaluation can do where this is missing."""
        return _LOSSES[self]


_LOSSES = {
    Capability.RLIMIT_AS: "an evaluation may take all the memory of the agent's container",
    Capability.NO_CORE: "a worker that fails may write what it read into a core file",
    Capability.NO_NEW_PRIVS: "a program that a worker starts may have more rights than the agent",
    Capability.SECCOMP: "an evaluation that breaks out of its language has the agent's files, "
    "network and credentials",
}


class SandboxUnconfinedError(SandboxMissingError):
    """No sandbox may be used: it is not confined, and the owner did not allow that."""


def missing(confined_by: Iterable[str]) -> tuple[Capability, ...]:
    has = frozenset(confined_by)
    return tuple(one for one in Capability if one not in has)


def require(confined_by: Iterable[str], allowed_missing: Iterable[Capability]) -> None:
    """Raises SandboxUnconfinedError that names what is missing and what to do."""
    allowed = frozenset(allowed_missing)
    lost = [one for one in missing(confined_by) if one not in allowed]
    if not lost:
        return
    losses = "; ".join(f"without {one}, {one.loss}" for one in lost)
    names = ",".join(sorted({*allowed, *lost}))
    raise SandboxUnconfinedError(
        f"the sandbox cannot be confined on this machine: {losses}. Run it on Linux 3.17 or later "
        "under a container runtime that permits seccomp filters, or accept the risk with "
        f"GITOPS_SANDBOX_ALLOW_MISSING={names}"
    )


def warn_of_missing(confined_by: Iterable[str]) -> None:
    for one in missing(confined_by):
        log.warning("the sandbox is less confined", missing=str(one), risk=one.loss)
