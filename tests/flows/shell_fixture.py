"""A shell in a container over the link, as a fake service opens one: what shell tests use."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from bus.link import Cancel, LinkTask, Offer, TaskKind, TaskResult, TerminalInput
from tests.flows.agent_fixture import AgentFixture
from tests.flows.fake_service_link import FakeServiceLink, allow
from tests.flows.test_exclusions import put_settings
from tests.support import eventually

_POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers:
  - {{name: web, image: "registry.example/web:1"}}
  - {{name: side, image: "registry.example/side:1"}}
"""
POD, POD_WITHOUT_SHELL = "web", "no-shell"
_NAMES = (POD, POD_WITHOUT_SHELL, "gone")


def pods() -> dict[str, str]:
    return {f"web/{name}.yaml": _POD.format(name=name) for name in _NAMES}


async def permit(agent: AgentFixture) -> None:
    """Let the control plane open shells; an agent that runs connects anew by that."""
    await put_settings(agent, exec_enabled="true")
    await allow(agent, exec="true")


@dataclass(slots=True, kw_only=True)
class ShellTask:
    """One task of the kind `exec`, and what is typed into it."""

    link: FakeServiceLink
    arguments: dict[str, Any]
    task: LinkTask = field(init=False)
    _typed: int = 0

    def __post_init__(self) -> None:
        self.task = self.link.task(TaskKind.EXEC, **self.arguments)

    async def open(self, credit: int = 64) -> None:
        await self.link.fake_service.send(Offer(task=self.task))
        await self.link.fake_service.credit(self.task.id, credit)

    async def type(self, text: str = "", **more: int) -> None:
        frame = TerminalInput(task=self.task.id, number=self._typed, text=text, **more)
        self._typed += 1
        await self.link.fake_service.send(frame)

    async def run(self, command: str) -> str:
        """Type a command; return its output once all of it is there."""
        mark = uuid.uuid4().hex
        seen = len(self.output)
        await self.type(f"{command}; echo {mark[:16]}''{mark[16:]}\n")
        await eventually(lambda: mark in self.output[seen:], what=f"output of {command}")
        return self.output[seen:].partition(mark)[0]

    @property
    def output(self) -> str:
        chunks = self.link.fake_service.chunks.get(self.task.id, ())
        return "".join(chunk.text for chunk in chunks)

    async def cancel(self) -> None:
        await self.link.fake_service.send(Cancel(id=self.task.id))

    async def end(self) -> TaskResult:
        results = self.link.fake_service.results
        return (await eventually(lambda: results.get(self.task.id), what="end of the shell"))[0]


def shell(link: FakeServiceLink, pod: str = POD, **arguments: Any) -> ShellTask:
    named = {"namespace": link.agent.destination, "name": pod, **arguments}
    return ShellTask(link=link, arguments=named)
