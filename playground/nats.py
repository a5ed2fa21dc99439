"""NATS with JetStream on disk: the same program that the agent starts where it is given no URL.

Here one server carries the streams of a hundred agents, each of which reserves what it may need; so
the server is told that there is room for all of them, since no test fills its streams.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agent.child import Child, Program
from agent.embedded import nats_binary
from agent.loopback import answers_tcp, free_port
from playground.server import Server

_CONFIGURATION = """\
listen: "127.0.0.1:{port}"
jetstream {{ store_dir: "{folder}/jetstream", max_file_store: 8TB }}
"""


@asynccontextmanager
async def nats_server(folder: Path) -> AsyncIterator[Server]:
    port = free_port()
    file = await asyncio.to_thread(_configured, folder, port)
    command = (nats_binary(), "--config", str(file))
    program = Program(name="nats-server", command=command, folder=folder)
    async with Child(program, answers_tcp(port)) as child:
        yield Server(f"nats://127.0.0.1:{port}", child)


def _configured(folder: Path, port: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "nats.conf"
    file.write_text(_CONFIGURATION.format(port=port, folder=folder))
    return file
