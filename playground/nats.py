"""NATS with JetStream on disk: the same program that the agent starts where it is given no URL.

Nobody is let in without a login. A server that is opened for named agents has their logins and no
other, as an installation has them; their seeds lie beside it as files. The tests' one server has
the streams of a hundred agents that nobody knows beforehand: its login is one for all of them, and
stands in the URL. Each agent reserves what it may need, so that server is told that there is room
for all of them; no test fills its streams.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agent.child_process import ChildProcess, ChildProgram
from agent.embedded_nats import nats_binary
from agent.loopback import answers_tcp, free_port
from agent.store.files import write_whole
from bus.jetstream.authorization import User, authorization, new_seeds, users_of
from bus.logins import BusLogin
from bus.subjects import AgentScope
from playground.server import Server

_CONFIGURATION = """\
listen: "127.0.0.1:{port}"
jetstream {{ store_dir: "{folder}/jetstream", max_file_store: 8TB }}
{authorization}"""
_USER = "playground"


@asynccontextmanager
async def nats_server(folder: Path, agents: Sequence[AgentScope] = ()) -> AsyncIterator[Server]:
    port, password = free_port(), secrets.token_urlsafe(16)
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    lines = await asyncio.to_thread(_logins, folder, agents, password)
    text = _CONFIGURATION.format(port=port, folder=folder, authorization=lines)
    file = folder / "nats.conf"
    await asyncio.to_thread(write_whole, file, text.encode())
    command = (nats_binary(), "--config", str(file))
    program = ChildProgram(name="nats-server", command=command, folder=folder)
    login = "" if agents else f"{_USER}:{password}@"
    async with ChildProcess(program, answers_tcp(port)) as child:
        yield Server(f"nats://{login}127.0.0.1:{port}", child)


def seed_file(folder: Path, agent: AgentScope, login: BusLogin) -> Path:
    """Where the server in `folder` leaves what proves this login."""
    return folder / agent.name(f"{login}.nk")


def _logins(folder: Path, agents: Sequence[AgentScope], password: str) -> str:
    if not agents:
        return f'authorization {{ user: {_USER}, password: "{password}" }}\n'
    users: list[User] = []
    for agent in agents:
        seeds = new_seeds()
        users += users_of(agent, seeds)
        for login, seed in seeds.items():
            write_whole(seed_file(folder, agent, login), seed.encode())
    return authorization(users)
