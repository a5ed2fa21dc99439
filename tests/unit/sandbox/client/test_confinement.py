"""A worker that is not confined gets no work, unless its owner accepts what is missing (M15)."""

import subprocess
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from sandbox.client import Capability, Sandbox, SandboxLimits, SandboxUnconfinedError
from sandbox.client.confinement import missing, require, warn_of_missing
from sandbox.client.frames import PROTOCOL

GREETING = """
import json, struct, sys
head = json.dumps({{"hello": {{"protocol": {protocol}, "capabilities": {capabilities}}}}}).encode()
sys.stdout.buffer.write(struct.pack(">II", len(head), 0) + head)
sys.stdout.flush()
sys.stdin.read()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A worker on a machine without seccomp: it greets, and says what confines it."""
    has = [str(one) for one in Capability if one is not Capability.SECCOMP]
    file = tmp_path / "worker"
    script = GREETING.format(protocol=PROTOCOL, capabilities=has)
    file.write_text(f"#!{sys.executable}\n{script}")
    file.chmod(0o755)
    return file


async def test_a_pool_of_unconfined_workers_does_not_start(program: Path) -> None:
    with pytest.raises(SandboxUnconfinedError) as caught:
        async with Sandbox(program, SandboxLimits(workers=1)):
            pass
    assert "without seccomp" in str(caught.value)
    assert "GITOPS_SANDBOX_ALLOW_MISSING=seccomp" in str(caught.value)


async def test_the_owner_may_accept_what_is_missing(program: Path) -> None:
    limits = SandboxLimits(workers=1, allow_missing=(Capability.SECCOMP,))
    async with Sandbox(program, limits) as sandbox:
        assert missing(sandbox.capabilities) == (Capability.SECCOMP,)


@pytest.mark.parametrize("one", Capability)
def test_each_capability_is_required_and_named(one: Capability) -> None:
    others = [other for other in Capability if other is not one]
    with pytest.raises(SandboxUnconfinedError, match=f"without {one}"):
        require(others, ())
    with pytest.raises(SandboxUnconfinedError, match=f"without {one}"):
        require(others, others)
    require(others, [one])


def test_what_is_missing_is_warned_of() -> None:
    with capture_logs() as logs:
        warn_of_missing([Capability.SECCOMP, Capability.NO_CORE, Capability.RLIMIT_AS])
    assert [(entry["log_level"], entry["missing"]) for entry in logs] == [
        ("warning", "no_new_privs")
    ]


def test_the_worker_names_the_same_capabilities(sandbox_binary: Path) -> None:
    ran = subprocess.run([sandbox_binary], input=b"", capture_output=True, check=False, timeout=180)
    assert all(f'"{one}"'.encode() in ran.stdout for one in Capability)
