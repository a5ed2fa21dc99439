"""A shell through a real service and a real agent: who may open it, what it shows, what is kept."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from sqlalchemy import delete, select, text

from cli.remote.contexts import SavedLogin, ServiceContext, ServiceContexts
from service.store.tables import bindings, metadata
from tests.flows.agent_fixture import AgentFixture
from tests.flows.linked_agent import LinkedAgent, open_linked_agent
from tests.flows.shell_fixture import POD, pods
from tests.flows.test_exclusions import put_settings
from tests.support import eventually

SYNCED = {"syncPolicy": {"automated": {}}}


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> AsyncIterator[LinkedAgent]:
    await put_settings(stopped_agent, exec_enabled="true")
    async with open_linked_agent(
        stopped_agent, database_url, tmp_path, limits={"exec": "true"}
    ) as linked_agent:
        yield linked_agent


@pytest.fixture
async def path(linked_agent: LinkedAgent) -> str:
    """The path of the application at the API, once the service knows that it is deployed."""
    agent, admin = linked_agent.agent, linked_agent.admin
    agent.commit(pods())
    await agent.apply_app("web", "web", **SYNCED)
    await agent.until_synced("web")

    async def shown() -> Any:
        return [it for it in await admin.items("/applications") if it["sync"] == "Synced"]

    (app,) = await eventually(shown, what="the application at the service")
    return f"/api/v1/applications/{app['id']}/exec"


@dataclass
class Visitor:
    """Somebody at the WebSocket of a shell."""

    socket: aiohttp.ClientWebSocketResponse
    output: str = ""
    ended: dict[str, Any] = field(default_factory=dict)

    async def type(self, text: str) -> None:
        await self.socket.send_json({"type": "input", "text": text})

    async def until(self, word: str) -> str:
        async with asyncio.timeout(120):
            while word not in self.output and not self.ended:
                await self._receive()
        assert word in self.output, (self.output, self.ended)
        return self.output

    async def end(self) -> dict[str, Any]:
        async with asyncio.timeout(120):
            while not self.ended:
                await self._receive()
        return self.ended

    async def _receive(self) -> None:
        found = await self.socket.receive_json()
        if found["type"] == "end":
            self.ended = found
        else:
            self.output += found["text"]


@asynccontextmanager
async def visiting(
    linked_agent: LinkedAgent, path: str, *, pod: str = POD, **headers: str
) -> AsyncIterator[Visitor]:
    query = {"pod": pod, "namespace": linked_agent.agent.destination}
    http = linked_agent.admin.http
    async with http.ws_connect(path, params=query, headers=headers) as socket:
        yield Visitor(socket)


async def records(linked_agent: LinkedAgent, action: str) -> list[dict[str, Any]]:
    return await linked_agent.admin.items(f"/audit?action={action}")


async def test_a_shell_runs_is_audited_and_its_content_is_kept_nowhere(
    linked_agent: LinkedAgent, path: str
) -> None:
    canary = uuid.uuid4().hex
    async with visiting(linked_agent, path) as visitor:
        await visitor.type(f"echo {canary[:16]}''{canary[16:]}; stty size\n")
        await visitor.until(canary)
        await visitor.until("24 80")
        await visitor.socket.send_json({"type": "size", "columns": 132, "rows": 50})
        await visitor.type("stty size; exit 3\n")
        assert await visitor.end() == {"type": "end", "exitCode": 3, "reason": ""}
        assert "50 132" in visitor.output

    async def closed() -> Any:
        return await records(linked_agent, "exec.ended")

    (ended,) = await eventually(closed, what="the record of the end")
    (begun,) = await records(linked_agent, "exec.begun")
    assert begun["detail"]["pod"] == ended["detail"]["pod"] == POD
    assert (ended["detail"]["exitCode"], ended["actor"]) == (3, begun["actor"])
    assert ended["detail"]["output"] > ended["detail"]["input"] > 0
    engine = linked_agent.running_service.service.dependencies.engine
    async with engine.connect() as connection:
        for table in metadata.sorted_tables:
            rows = await connection.execute(text(f'SELECT t::text FROM "{table.name}" t'))  # noqa: S608  our own tables
            assert not [row for row in rows if canary[16:] in row[0]], table.name


async def test_a_role_that_is_taken_away_ends_the_shell(
    linked_agent: LinkedAgent, path: str
) -> None:
    engine = linked_agent.running_service.service.dependencies.engine
    async with visiting(linked_agent, path) as visitor:
        await visitor.type("echo re''ady\n")
        await visitor.until("ready")
        async with engine.begin() as connection:
            kept = [dict(it._mapping) for it in await connection.execute(select(bindings))]
            await connection.execute(delete(bindings))
        ended = await visitor.end()
        async with engine.begin() as connection:
            await connection.execute(bindings.insert().values(kept))
    assert "permission" in ended["reason"]
    assert linked_agent.agent.agent is not None


async def test_a_website_or_a_plain_request_opens_no_shell(
    linked_agent: LinkedAgent, path: str
) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as foreign:
        async with visiting(linked_agent, path, Origin="https://evil.example"):
            pass
    query = {"pod": POD, "namespace": linked_agent.agent.destination}
    async with linked_agent.admin.http.get(path, params=query) as response:
        plain = response.status, (await response.json())["rule"]
    assert foreign.value.status == 403
    assert plain == (400, "upgrade")
    assert await records(linked_agent, "exec.begun") == []


async def test_a_refusal_of_the_agent_is_told_and_leaves_nothing_open(
    linked_agent: LinkedAgent, path: str
) -> None:
    async with visiting(linked_agent, path, pod="stranger") as visitor:
        ended = await visitor.end()
    assert ended["exitCode"] is None
    assert "stranger is no live object" in ended["reason"]


async def test_a_shell_ends_when_its_reader_leaves(
    linked_agent: LinkedAgent, path: str, tmp_path: Path
) -> None:
    async with visiting(linked_agent, path) as visitor:
        await visitor.type(f"trap 'echo gone > {tmp_path}/gone' EXIT HUP; echo re''ady\n")
        await visitor.until("ready")
    await eventually((tmp_path / "gone").exists, what="the end of the shell")


@dataclass
class Keyboard:
    """The other side of a pseudo terminal in which a program runs."""

    master: int
    shown: bytes = b""

    def read(self) -> None:
        try:
            self.shown += os.read(self.master, 65536)
        except OSError:  # the program has closed it
            asyncio.get_running_loop().remove_reader(self.master)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def resize(self, columns: int, rows: int) -> None:
        termios.tcsetwinsize(self.master, (rows, columns))

    async def until(self, word: str) -> None:
        await eventually(lambda: word.encode() in self.shown, what=f"{word!r} on the terminal")


@asynccontextmanager
async def keyboard() -> AsyncIterator[tuple[Keyboard, int]]:
    """A pseudo terminal, and the file descriptor for the program in it."""
    master, slave = os.openpty()
    found = Keyboard(master)
    asyncio.get_running_loop().add_reader(master, found.read)
    try:
        yield found, slave
    finally:
        asyncio.get_running_loop().remove_reader(master)
        os.close(slave)
        os.close(master)


def log_in(linked_agent: LinkedAgent, folder: Path) -> None:
    """Keep the administrator's login where `gitops` looks for it."""
    secret = linked_agent.admin.http.headers["Authorization"].removeprefix("Bearer ")
    url = linked_agent.running_service.service.url
    context = ServiceContext(url=url, login=SavedLogin.TOKEN, secret=secret, who="administrator")
    file = folder / "gitops" / "contexts.json"
    file.parent.mkdir()
    file.write_bytes(msgspec.json.encode(ServiceContexts(current="test", known={"test": context})))


async def test_the_command_line_is_the_terminal_and_ends_with_the_code_of_the_shell(
    linked_agent: LinkedAgent, path: str, tmp_path: Path
) -> None:
    assert path
    log_in(linked_agent, tmp_path)
    async with keyboard() as (terminal, inside):
        terminal.resize(100, 30)
        before = termios.tcgetattr(inside)
        gitops = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "from cli.main import main; main()",
            *("app", "exec", "web", "--pod", POD),
            stdin=inside,
            stdout=inside,
            stderr=inside,
            env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
        )
        try:
            await eventually(lambda: terminal.shown, what="the prompt")
            terminal.type("stty size; echo re''ady\n")
            await terminal.until("ready\r\n")
            assert b"30 100" in terminal.shown
            terminal.resize(90, 20)
            gitops.send_signal(signal.SIGWINCH)
            terminal.type("while ! stty size | grep -q '20 90'; do :; done; echo re''sized\n")
            await terminal.until("resized\r\n")
            terminal.type("sh -c 'trap \"echo c''aught; exit\" INT; echo a''rmed; cat'\n")
            await terminal.until("armed\r\n")
            terminal.type("\x03")
            await terminal.until("caught\r\n")
            terminal.type("exit 9\n")
            async with asyncio.timeout(120):
                code = await gitops.wait()
        finally:
            if gitops.returncode is None:
                gitops.kill()
        assert (code, termios.tcgetattr(inside)) == (9, before), terminal.shown
