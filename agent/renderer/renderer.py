"""SandboxRenderer turns a recipe and a commit's files into objects: the port Renderer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from agent.renderer.foresight import certain
from agent.renderer.questions import RepositoryQuestions
from agent.renderer.requests import request_of
from bus.status import Reason
from handlers.ports import CommitTree, RendererBusyError
from handlers.ports.chart_dependency import ChartDependency
from handlers.ports.remote_base import RemoteBase
from handlers.ports.rendering import (
    NOTHING_FETCHED,
    FetchedSources,
    MissingBasesError,
    MissingChartsError,
    Recipe,
    RecordedOrigin,
    RenderError,
    RenderResult,
)
from sandbox.client import (
    Evaluation,
    NoFiles,
    RecipeKey,
    Sandbox,
    SandboxBusyError,
    SandboxError,
    SandboxReason,
    WantedBase,
    WantedChart,
)

_NEAREST = {
    SandboxReason.VALUES_INVALID: Reason.TEMPLATE_FAILED,
    SandboxReason.CHART_INVALID: Reason.TEMPLATE_FAILED,
    SandboxReason.REMOTE_FILE: Reason.REMOTE_BASE,
    SandboxReason.GLOB_INVALID: Reason.INVALID_SPEC,
    SandboxReason.SEMVER_INVALID: Reason.INVALID_SPEC,
    SandboxReason.REQUEST_INVALID: Reason.INVALID_SPEC,
    SandboxReason.INPUT_TOO_LARGE: Reason.OUTPUT_TOO_LARGE,
    SandboxReason.LUA_FAILED: Reason.EVALUATION_FAILED,
    SandboxReason.JQ_FAILED: Reason.EVALUATION_FAILED,
    SandboxReason.REGO_FAILED: Reason.EVALUATION_FAILED,
    SandboxReason.WORKER_FAILED: Reason.EVALUATION_FAILED,
}


_DOCUMENTS = 256
"""Of override files, which have 64 KiB at most."""
_LARGEST_DOCUMENT = 256 * 1024


class SandboxRenderer:
    """Renders by evaluations of the sandbox, which may be shared with others."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._documents: OrderedDict[bytes, bytes] = OrderedDict()
        """By content, what the sandbox made of it: a source is looked at again with each ask."""

    async def render(
        self,
        recipe: Recipe,
        tree: CommitTree,
        *,
        refs: Mapping[str, CommitTree] = {},
        fetched: FetchedSources = NOTHING_FETCHED,
        project: str = "",
        hard: bool = False,
    ) -> RenderResult:
        """Evaluate in the project's turn; raises RenderError, RendererBusyError.

        `hard`: also what is known to fail is tried again.
        """
        limits, key = self._sandbox.limits, RecipeKey(project, recipe.fingerprint)
        charts = {one: f"{number}:{one.name}" for number, one in enumerate(fetched.charts)}
        bases = {one: f"{number}:{one.repository}" for number, one in enumerate(fetched.bases)}
        trees = {
            **refs,
            **{charts[one]: files for one, files in fetched.charts.items()},
            **{bases[one]: files for one, files in fetched.bases.items()},
        }
        questions = RepositoryQuestions(tree, limits.input_bytes, trees)
        if hard:
            self._sandbox.forget(key)
        if known := self._sandbox.known_failure(key, questions):
            raise _render_error(known) from known
        questions.foresee(certain(recipe, tree))
        op, params = request_of(recipe, limits, charts, bases)
        work = Evaluation(op=op, params=params, files=questions, project=project, recipe=key)
        try:
            answer, body = await self._sandbox.run(work)
        except SandboxError as error:
            raise _render_error(error) from error
        except SandboxBusyError as error:
            raise RendererBusyError(error.message, after=error.after) from error
        return RenderResult(
            objects=tuple(body.splitlines()),
            origins=tuple(RecordedOrigin(one.file, one.document) for one in answer.origins),
            read_set=questions.read_of(),
            refs={name: questions.read_of(name) for name in recipe.refs},
            bases={one: questions.read_of(name) for one, name in bases.items()},
        )

    async def manifests(self, content: bytes, *, file: str, project: str = "") -> RenderResult:
        """Read manifests that are there already; raises RenderError, RendererBusyError."""
        work = Evaluation(
            op="yaml", params={"file": file}, body=content, files=NoFiles(), project=project
        )
        try:
            answer, body = await self._sandbox.run(work)
        except SandboxError as error:
            raise _render_error(error) from error
        except SandboxBusyError as error:
            raise RendererBusyError(error.message, after=error.after) from error
        origins = tuple(RecordedOrigin(one.file, one.document) for one in answer.origins)
        return RenderResult(objects=tuple(body.splitlines()), origins=origins, read_set={})

    async def document(self, content: bytes, *, file: str, project: str = "") -> object:
        """Read the one YAML document of a file; the same content is read once.

        Raises RenderError, RendererBusyError.
        """
        known = self._documents.get(content)
        if known is None:
            known = await self._read(content, file, project)
            if len(known) > _LARGEST_DOCUMENT:
                text = f"{file} has {len(known)} bytes with its aliases; that is too much"
                raise RenderError(Reason.OUTPUT_TOO_LARGE, text, file=file)
            self._documents[content] = known
            while len(self._documents) > _DOCUMENTS:
                self._documents.popitem(last=False)
        documents = [msgspec.json.decode(one) for one in known.splitlines()]
        if len(documents) > 1:
            text = f"{file} has {len(documents)} documents; expected one"
            raise RenderError(Reason.YAML_INVALID, text, file=file)
        return documents[0] if documents else None

    async def _read(self, content: bytes, file: str, project: str) -> bytes:
        try:
            return await self._sandbox.evaluate(
                "yaml", {"file": file, "plain": True}, content, project=project
            )
        except SandboxError as error:
            raise _render_error(error) from error
        except SandboxBusyError as error:
            raise RendererBusyError(error.message, after=error.after) from error


def reason_of(reason: SandboxReason) -> Reason:
    """Return our reason for the worker's, or the nearest one that we have."""
    return _NEAREST.get(reason) or Reason(reason.value)


def _render_error(error: SandboxError) -> RenderError:
    charts = [one for one in error.wanted if isinstance(one, WantedChart)]
    bases = [one for one in error.wanted if isinstance(one, WantedBase)]
    kind = MissingChartsError if charts else MissingBasesError if bases else RenderError
    made = kind(
        reason_of(error.reason),
        error.message,
        file=error.file,
        document=error.document,
        line=error.line,
    )
    if isinstance(made, MissingChartsError):
        made.charts = tuple(
            ChartDependency(one.name, one.repository, one.version, one.locked) for one in charts
        )
    if isinstance(made, MissingBasesError):
        made.bases = tuple(RemoteBase(one.repository, one.ref) for one in bases)
    return made
