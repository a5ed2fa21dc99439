"""The machine that figures were taken on: nothing that names it, all that explains them."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

import msgspec

from playground.toolchain import MODULES

_PACKAGES = ("aiohttp", "msgspec", "nats-py", "orjson", "pygit2", "uvloop")


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    cores: int
    memory_mib: int
    processor: str
    kernel: str
    python: str
    kubernetes: str
    """The version that the playground builds."""
    packages: dict[str, str]


def machine() -> Machine:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        memory_mib=pages // 2**20,
        processor=_processor(),
        kernel=platform.release().partition("-")[0],
        python=platform.python_version(),
        kubernetes=_kubernetes(),
        packages={name: version(name) for name in _PACKAGES},
    )


def load() -> float:
    return round(os.getloadavg()[0], 2)


def _processor() -> str:
    """As /proc/cpuinfo names it; empty where it does not."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _kubernetes() -> str:
    lines = (MODULES / "cluster" / "go.mod").read_text().splitlines()
    found = (line.split()[1] for line in lines if line.strip().startswith("k8s.io/kubernetes "))
    return next(found, "")
