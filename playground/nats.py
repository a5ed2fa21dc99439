"""NATS with JetStream on disk: the same child that the agent starts where it is given no URL."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agent.embedded import nats_child
from agent.loopback import free_port
from playground.server import Server


@asynccontextmanager
async def nats_server(folder: Path) -> AsyncIterator[Server]:
    port = free_port()
    async with nats_child(folder, port) as child:
        yield Server(f"nats://127.0.0.1:{port}", child)
