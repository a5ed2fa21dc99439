"""SandboxJqPaths evaluates the expressions of ignore rules in the sandbox: the port JqPaths.

An expression has one second for a document, as in Argo CD, and no second, longer try. Documents go
together in one request; if that one overruns or dies, each expression is tried by itself on each
document, so that a bad one fails alone. An expression that met a limit is not tried again for some
minutes by the same project, on whatever document: an endless one costs a worker a second, not a
second for each object and comparison.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from handlers.ports import JqBusyError, JqResult
from sandbox.client import Evaluation, Sandbox, SandboxBusyError, SandboxError, SandboxReason
from sandbox.client.evaluation import NoFiles

_SECONDS = 1.0
_WITH_OVERHEAD = 1.5
_TOGETHER, _BYTES = 200, 4 << 20
_AGAIN_AFTER = 300.0
_REMEMBERED = 1_000
_OF_THE_INPUT = (SandboxReason.REQUEST_INVALID, SandboxReason.INPUT_TOO_LARGE)


class _Answer(msgspec.Struct, frozen=True):
    problems: tuple[str, ...]
    documents: tuple[tuple[JqResult, ...], ...]


class SandboxJqPaths:
    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._overran: OrderedDict[tuple[str, str], tuple[float, str]] = OrderedDict()
        """Until when a project's expression is not tried again, and what happened."""

    async def problems(self, expressions: Sequence[str], *, project: str) -> Sequence[str]:
        try:
            return (await self._ask(expressions, (), project)).problems
        except SandboxError as error:
            return tuple(error.message for _ in expressions)

    async def paths(
        self, expressions: Sequence[str], documents: Sequence[bytes], *, project: str
    ) -> Sequence[Sequence[JqResult]]:
        tried = [one for one in expressions if not self._known_overrun(one, project)]
        results: list[Sequence[JqResult]] = []
        for part in _parts(documents):
            results += await self._together(tried, part, project)
        return [
            self._in_order(expressions, dict(zip(tried, found, strict=True)), project)
            for found in results
        ]

    def _in_order(
        self, expressions: Sequence[str], found: Mapping[str, JqResult], project: str
    ) -> Sequence[JqResult]:
        return tuple(
            found.get(one) or JqResult(problem=self._known_overrun(one, project), overran=True)
            for one in expressions
        )

    async def _together(
        self, expressions: Sequence[str], documents: Sequence[bytes], project: str
    ) -> Sequence[Sequence[JqResult]]:
        if not expressions:
            return [() for _ in documents]
        try:
            answer = await self._ask(expressions, documents, project)
        except SandboxError:
            return [
                [await self._alone(one, document, project) for one in expressions]
                for document in documents
            ]
        for results in answer.documents:
            for expression, result in zip(expressions, results, strict=True):
                self._note(expression, project, result)
        return answer.documents

    async def _alone(self, expression: str, document: bytes, project: str) -> JqResult:
        if known := self._known_overrun(expression, project):
            return JqResult(problem=known, overran=True)
        try:
            answer = await self._ask((expression,), (document,), project)
        except SandboxError as error:
            overran = error.reason not in _OF_THE_INPUT
            result = JqResult(problem=error.message, overran=overran)
        else:
            result = answer.documents[0][0]
        self._note(expression, project, result)
        return result

    async def _ask(
        self, expressions: Sequence[str], documents: Sequence[bytes], project: str
    ) -> _Answer:
        params: dict[str, Any] = {
            "expressions": list(expressions),
            "milliseconds": int(_SECONDS * 1000),
        }
        work = Evaluation(
            op="jqpaths",
            params=params,
            body=b"\n".join(documents),
            files=NoFiles(),
            project=project,
            only_try=_WITH_OVERHEAD,
        )
        try:
            _, body = await self._sandbox.run(work)
        except SandboxBusyError as error:
            raise JqBusyError(f"ignoreDifferences: {error.message}") from error
        return msgspec.json.decode(body, type=_Answer)

    def _known_overrun(self, expression: str, project: str) -> str:
        until, message = self._overran.get((project, expression), (0.0, ""))
        return message if until > time.monotonic() else ""

    def _note(self, expression: str, project: str, result: JqResult) -> None:
        if not result.overran:
            return
        self._overran[project, expression] = (time.monotonic() + _AGAIN_AFTER, result.problem)
        if len(self._overran) > _REMEMBERED:
            self._overran.popitem(last=False)


def _parts(documents: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Divide documents into requests of bounded size; a large one goes alone."""
    part: list[bytes] = []
    size = 0
    for one in documents:
        if part and (len(part) >= _TOGETHER or size + len(one) > _BYTES):
            yield part
            part, size = [], 0
        part.append(one)
        size += len(one)
    if part:
        yield part
