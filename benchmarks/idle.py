"""idle: N applications, and nothing happens; what does the agent do all the same?

Looked at over a while without an event. What remains is the Lease, the poll of the repository and
the timers of the process. The processes' wake-ups are the voluntary switches that the kernel
counts of their threads.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from benchmarks.agent_setup import AgentSetup
from benchmarks.figures import Figure
from benchmarks.monorepo_noop import settled

WORK = "N applications, all Synced, and no event"
_CORES_AIM = 0.01
_SWITCHES = "voluntary_ctxt_switches:"


async def idle(setup: AgentSetup, seconds: float) -> tuple[Figure, ...]:
    before, switched, began = await settled(setup), _switches(setup.agent.pid), time.monotonic()
    await asyncio.sleep(seconds)
    done = (await setup.snapshot()).since(before)
    switches = _switches(setup.agent.pid) - switched
    took = time.monotonic() - began
    agent, nats = done.cpu.get("agent", 0.0), done.cpu.get("NATS", 0.0)
    leases = sum(
        count for (_, resource), count in done.server_requests.items() if resource == "leases"
    )
    return (
        Figure(name="cores of the agent", unit="", value=agent / took, aim=_CORES_AIM),
        Figure(name="cores of NATS", unit="", value=nats / took),
        Figure(name="agent's requests", unit="/min", value=done.requests / took * 60),
        Figure(name="requests about Leases", unit="/min", value=leases / took * 60),
        Figure(name="writes, no Leases", unit="calls", value=done.written(), aim=0),
        Figure(name="wake-ups of the agent", unit="/s", value=switches / took),
    )


def _switches(process: int | None) -> int:
    """Sum up the voluntary switches of the threads of the process."""
    texts = [file.read_text() for file in Path(f"/proc/{process}/task").glob("*/status")]
    lines = [line for text in texts for line in text.splitlines() if line.startswith(_SWITCHES)]
    return sum(int(line.removeprefix(_SWITCHES)) for line in lines)
