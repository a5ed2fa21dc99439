"""LogsExecutor: streams the log of one pod of an application, with secrets masked.

Lines are sent as fast as the reader grants credit. The log is read from the API server at the same
speed, so a slow reader needs no buffer here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from aiohttp import StreamReader

from agent.bridge.reporting.object_nodes import VisibleObjects
from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from bus.identity import ResourceKey
from bus.link import LinkTask, LogsArguments
from handlers.application.application import Application
from handlers.report.log_redaction import LogRedaction
from handlers.report.redaction import Redaction

_MOST_TAIL = 10_000
MOST_BYTES = 100 * 1024 * 1024
_LONGEST_LINE = 256 * 1024
_LONGEST_WORD = 16 * 1024
_BATCH_BYTES = 12 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsExecutor:
    subjects: TaskSubjects
    objects: VisibleObjects
    redaction: Callable[[], Redaction]
    most: int = MOST_BYTES
    """Bytes of one log at most."""
    sign_seconds: float = 20.0
    """Without a line before an empty chunk: the service ends a silent stream."""

    async def __call__(
        self, task: LinkTask, args: LogsArguments, task_context: TaskContext
    ) -> object:
        app = self.subjects.app(task)
        pod = self._pod(app, args)
        client = self.objects.client_as(app)
        sent = taken = 0
        async with client.logs(pod.namespace, pod.name, self._query(args)) as content:
            lines = LogLines(_LONGEST_LINE)
            redaction = LogRedaction(self.redaction)
            async for chunk in self._chunks(content, task_context):
                taken += len(chunk)
                sent += await _send(lines.feed(chunk), redaction, task_context)
        sent += await _send(lines.feed(b"\n"), redaction, task_context)
        if taken >= self.most:
            text = f"the log of {pod.name} has more than {self.most >> 20} MiB: ask for fewer lines"
            raise TaskFailedError("failed", text)
        return {"lines": sent}

    async def _chunks(
        self, content: StreamReader, task_context: TaskContext
    ) -> AsyncIterator[bytes]:
        """Chunks until the end of the log; an idle log sends an empty text now and then."""
        while True:
            limit = asyncio.timeout(self.sign_seconds)
            try:
                async with limit:
                    chunk = await content.read(_BATCH_BYTES)
            except TimeoutError:
                if not limit.expired():
                    raise  # the API server's silence has a limit of its own
                await task_context.stream.send("")
                continue
            if not chunk:
                return
            yield chunk

    def _query(self, args: LogsArguments) -> dict[str, str]:
        query = {
            "tailLines": str(min(max(0, args.tail), _MOST_TAIL)),
            "limitBytes": str(self.most),
            "follow": "true" if args.follow else "false",
            "previous": "true" if args.previous else "false",
        }
        if args.container:
            query["container"] = args.container
        if args.since_seconds > 0:
            query["sinceSeconds"] = str(args.since_seconds)
        return query

    def _pod(self, app: Application, args: LogsArguments) -> ResourceKey:
        name = args.pod or args.name
        nodes = self.objects.nodes(app)
        found = [key for key in nodes if key.kind == "Pod" and key.name == name]
        pods_of_name = [key for key in found if args.namespace in ("", key.namespace)]
        if not pods_of_name:
            pods = ", ".join(key.name for key in nodes if key.kind == "Pod")[:500]
            text = f"{app.key} has no pod {name!r}; there are: {pods or 'none'}"
            raise TaskFailedError("not_found", text)
        return pods_of_name[0]


class LogLines:
    """Cuts the chunks of a log into lines; of a line that is too long the beginning stays.

    Such a line ends with a whole word, because half a secret would not be known as one.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._begun = bytearray()
        self._left_out = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that are complete, without empty ones; keep the unfinished end."""
        *complete, rest = chunk.split(b"\n")
        lines = []
        for part in complete:
            self._add(part)
            lines.append(self._end())
        self._add(rest)
        return [line for line in lines if line]

    def _add(self, part: bytes) -> None:
        taken = part[: self._longest - len(self._begun)]
        self._begun += taken
        self._left_out += len(part) - len(taken)

    def _end(self) -> bytes:
        line, left_out = bytes(self._begun), self._left_out
        self._begun, self._left_out = bytearray(), 0
        if not left_out:
            return line
        words = line[: max(line.rfind(b" "), self._longest - _LONGEST_WORD)]
        return words + b" [%d more bytes of this line]" % (len(line) - len(words) + left_out)


async def _send(lines: list[bytes], redaction: LogRedaction, task_context: TaskContext) -> int:
    if lines:
        texts = [line.decode(errors="replace") for line in lines]
        await task_context.stream.send("\n".join(redaction.lines(texts)) + "\n")
    return len(lines)
