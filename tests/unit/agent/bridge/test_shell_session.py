"""The longest time of a shell, by a clock that a test moves; its container is a real WebSocket."""

from __future__ import annotations

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.bridge.tasks.running_task import TaskStream
from agent.bridge.tasks.shells.shell_session import ShellLimits, ShellSession
from agent.bridge.tasks.task_context import TaskFailedError
from agent.bridge.tasks.task_input import TaskInput
from agent.kube.exec_channels import PROTOCOLS
from agent.kube.pod_exec import PodExec

TWO_HOURS = 7200.0


async def silent(request: web.Request) -> web.WebSocketResponse:
    """Be a container that shows nothing."""
    socket = web.WebSocketResponse(protocols=PROTOCOLS)
    await socket.prepare(request)
    async for _ in socket:
        pass
    return socket


@pytest.mark.parametrize(
    ("limits", "later", "why"),
    [
        (ShellLimits(), TWO_HOURS, "nothing came and went for 900 s"),
        (ShellLimits(idle=TWO_HOURS + 1), TWO_HOURS, "it was open for 7200 s, the longest time"),
        (ShellLimits(idle=99.0, longest=60.0), 60.0, "it was open for 60 s, the longest time"),
    ],
)
async def test_a_shell_ends_at_its_limits(limits: ShellLimits, later: float, why: str) -> None:
    readings = iter((0.0, later))
    app = web.Application()
    app.router.add_get("/", silent)
    async with (
        TestServer(app) as server,
        aiohttp.ClientSession() as http,
        http.ws_connect(server.make_url("/"), protocols=PROTOCOLS) as socket,
    ):
        session = ShellSession(
            pod_exec=PodExec(socket),
            stream=TaskStream("task", None),
            input=TaskInput(),
            limits=limits,
            problem=str,
            clock=lambda: next(readings),
        )
        with pytest.raises(TaskFailedError) as ended:
            await session.run()
    assert (ended.value.code, str(ended.value)) == ("expired", f"the shell was ended: {why}")
