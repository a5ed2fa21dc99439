"""A process that works on strangers' bytes ends, whatever it does, and with it what it started."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from agent.limited_process import ProcessLimits, run_limited
from tests.support import eventually

ENVIRONMENT = {"PATH": os.environ["PATH"]}


async def test_output_without_an_end_ends_at_the_limit_of_time() -> None:
    with pytest.raises(TimeoutError):
        await run_limited(("yes",), environment=ENVIRONMENT, limits=ProcessLimits(seconds=0.5))


async def test_of_the_output_the_beginning_is_kept_and_the_rest_is_read() -> None:
    limits = ProcessLimits(seconds=60, output_bytes=10)
    ran = await run_limited(("seq", "100000"), environment=ENVIRONMENT, limits=limits)
    assert (ran.code, ran.text) == (0, "1\n2\n3\n4\n5\n")


async def test_input_that_nobody_reads_is_no_error() -> None:
    content = bytes(1 << 20)
    ran = await run_limited(
        ("true",), environment=ENVIRONMENT, limits=ProcessLimits(seconds=60), content=content
    )
    assert ran.code == 0


async def test_what_a_process_started_ends_with_it() -> None:
    command = ("sh", "-c", "sleep 600 >&2 & echo $!")
    ran = await run_limited(command, environment=ENVIRONMENT, limits=ProcessLimits(seconds=60))
    await eventually(lambda: not _runs(int(ran.text)), what="the child's end")


async def test_processor_time_has_a_limit() -> None:
    command = ("sh", "-c", "while :; do :; done")
    limits = ProcessLimits(seconds=60, resources=((resource.RLIMIT_CPU, 1),))
    ran = await run_limited(command, environment=ENVIRONMENT, limits=limits)
    assert ran.code < 0


def _runs(pid: int) -> bool:
    """Whether the process is there; one that nobody has reaped yet has ended all the same."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
