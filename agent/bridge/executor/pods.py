"""Logs: what the pods of an application say, and no others.

They are a stream: lines go out as fast as they are taken, with secrets masked. A reader that is too
slow does not make us remember: lines are left out, and counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.bridge.doing import Doing, TaskFailedError
from agent.bridge.executor import arguments
from agent.bridge.executor.tools import Tools
from agent.kube.lines import Lines
from bus.identity import ResourceKey
from bus.link import Task
from handlers.application.application import Application
from handlers.report.log import LogRedaction

_MOST_TAIL = 10_000
MOST_BYTES = 100 * 1024 * 1024
_LONGEST_LINE = 256 * 1024
_GATHER = 12 * 1024


@dataclass(frozen=True, slots=True)
class Pods:
    tools: Tools
    most: int = MOST_BYTES
    """Of one log."""

    async def logs(self, task: Task, doing: Doing) -> object:
        said = arguments.read(task, arguments.Logs)
        app = self.tools.app(task)
        pod = self._pod(app, said)
        sent = taken = 0
        async with self.tools.client.logs(pod.namespace, pod.name, self._query(said)) as content:
            lines = Lines(_LONGEST_LINE)
            redaction = LogRedaction(self.tools.redaction)
            async for chunk in content.iter_chunked(_GATHER):
                taken += len(chunk)
                sent += await _send(lines.feed(chunk), redaction, doing)
        sent += await _send(lines.feed(b"\n"), redaction, doing)
        if taken >= self.most:
            text = f"the log of {pod.name} has more than {self.most >> 20} MiB: ask for fewer lines"
            raise TaskFailedError("failed", text)
        return {"lines": sent}

    def _query(self, said: arguments.Logs) -> dict[str, str]:
        query = {
            "tailLines": str(min(max(0, said.tail), _MOST_TAIL)),
            "limitBytes": str(self.most),
            "follow": "true" if said.follow else "false",
            "previous": "true" if said.previous else "false",
        }
        if said.container:
            query["container"] = said.container
        if said.since_seconds > 0:
            query["sinceSeconds"] = str(said.since_seconds)
        return query

    def _pod(self, app: Application, said: arguments.Logs) -> ResourceKey:
        name = said.pod or said.name
        nodes = self.tools.nodes(app)
        found = [key for key in nodes if key.kind == "Pod" and key.name == name]
        wanted = [key for key in found if said.namespace in ("", key.namespace)]
        if not wanted:
            pods = ", ".join(key.name for key in nodes if key.kind == "Pod")[:500]
            text = f"{app.key} has no pod {name!r}; there are: {pods or 'none'}"
            raise TaskFailedError("not_found", text)
        return wanted[0]


async def _send(lines: list[bytes], redaction: LogRedaction, doing: Doing) -> int:
    if lines:
        texts = [line.decode(errors="replace") for line in lines]
        await doing.stream.send("\n".join(redaction.lines(texts)) + "\n")
    return len(lines)
