"""A contender for a Lease: what the agent does with leadership, without an agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.kube.client import KubeClient
from agent.kube.leader import LeadershipLostError, LeaseTerms, lead
from agent.kube.write_fence import WriteFence


class Contender:
    """Acts until told to stop, and says in which state it is."""

    def __init__(self, client: KubeClient, terms: LeaseTerms) -> None:
        self.acting = asyncio.Event()
        self.stop = asyncio.Event()
        self.ended = ""
        self.fence = WriteFence()
        self._client, self._terms = client, terms

    async def run(self) -> None:
        try:
            await lead(self._client, self._terms, self._act, fence=self.fence)
        except LeadershipLostError as error:
            self.ended = str(error)

    async def _act(self) -> None:
        self.acting.set()
        try:
            await self.stop.wait()
        finally:
            self.acting.clear()


_DURATION = 12.0
"""Long enough that a holder on a busy machine is not taken for a dead one."""


def terms_of(namespace: str, identity: str, duration: float = _DURATION) -> LeaseTerms:
    return LeaseTerms(
        namespace=namespace,
        name="agent",
        identity=identity,
        duration=duration,
        deadline=duration * 3 / 4,
        retry=0.1,
    )


@asynccontextmanager
async def contending(
    client: KubeClient, namespace: str, identity: str, duration: float = _DURATION
) -> AsyncIterator[Contender]:
    agent = Contender(client, terms_of(namespace, identity, duration))
    task = asyncio.ensure_future(agent.run())
    try:
        yield agent
    finally:
        task.cancel()
        await asyncio.wait([task])
