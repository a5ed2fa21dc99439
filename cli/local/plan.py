"""`gitops plan`: the order in which a sync applies objects: waves, then kinds, then names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from cli import output
from cli.command import new_app
from cli.local.inputs import (
    APPLICATION,
    InputDocument,
    InputError,
    InputManifests,
    refuse,
    sorted_out,
)
from cli.local.refusals import ProjectRefusals, Projects, ignored, is_project, projects_of, refusals
from cli.local.render import RenderedInput, complain, rendered, warn_of_ignored
from handlers.manifest import access
from handlers.manifest.hooks import hook_of, is_hook
from handlers.manifest.kinds import GroupKind
from handlers.manifest.order import wave
from handlers.ports import RepositoryError
from handlers.sync.hook_tasks import PHASES
from handlers.sync.sync_plan import SyncAction, SyncPhase, SyncStep, SyncTask
from handlers.sync.sync_plan import plan as order
from sandbox.client.binary import SandboxMissingError

app = new_app()

_ON_THE_WAY = frozenset(SyncPhase) - {SyncPhase.SYNC_FAIL}
"""The phases that a sync goes through if nothing fails."""


@app.command(epilog="Exit codes: 0 planned, 2 an input cannot be used.")
def plan(
    file: Annotated[
        list[str], typer.Option("-f", "--file", help="Applications or manifests; repeatable.")
    ],
    repo: Annotated[
        str, typer.Option(metavar="DIR", help="Files of the Applications; else their repoURL.")
    ] = "",
    revision: Annotated[
        str, typer.Option(help="A commit of --repo instead of its files as they are.")
    ] = "",
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON per input.")
    ] = False,
) -> None:
    """Show the steps of a sync; each begins when the one before is healthy.

    An Application is rendered and planned by itself; the plain manifests of a file are one plan.
    With AppProjects in FILE, what the agent would refuse is shown.
    """
    output.as_it_comes()
    try:
        raise typer.Exit(asyncio.run(_plan_all(file, repo, revision, as_json=as_json)))
    except SandboxMissingError as e:
        output.stop(str(e))


async def _plan_all(
    files: Sequence[str], repo: str, revision: str, *, as_json: bool
) -> output.Exit:
    worst = output.Exit.FINE
    async with InputManifests() as manifests:
        inputs = [sorted_out(await manifests.examine(file)) for file in files]
        warn_of_ignored(one for good, _ in inputs for one in good)
        projects, bad = _projects(inputs)
        for found in (*bad, *_sets(inputs, with_projects=projects is None)):
            try:
                if isinstance(found, InputError):
                    raise found
                planned = await _planned(found, manifests, repo, revision)
                _write(found[0], planned, projects or {}, as_json=as_json)
            except (InputError, RepositoryError) as e:
                of = found if isinstance(found, InputError) else found[0]
                worst = refuse(e, of, as_json=as_json)
    return worst


Inputs = Sequence[tuple[list[InputDocument], list[InputError]]]
"""Of each file what can be used, and what cannot."""


def _projects(inputs: Inputs) -> tuple[Projects | None, list[InputError]]:
    """Read the AppProjects among the inputs; None where they are manifests like any other."""
    documents = [one for good, _ in inputs for one in good]
    return projects_of(documents) if any(map(_is_application, documents)) else (None, [])


def _sets(inputs: Inputs, *, with_projects: bool) -> Iterator[Sequence[InputDocument] | InputError]:
    """List the sets to plan: each Application, and the plain manifests of a file."""
    for documents, bad in inputs:
        yield from bad
        plain = [
            one
            for one in documents
            if not _is_application(one) and (with_projects or not is_project(one))
        ]
        for together in (*([one] for one in documents if _is_application(one)), plain):
            if together:
                yield together


async def _planned(
    together: Sequence[InputDocument], manifests: InputManifests, repo: str, revision: str
) -> RenderedInput | Sequence[dict[str, Any]]:
    first = together[0]
    if _is_application(first):
        return await rendered(first, manifests, repo, revision)
    return [one.manifest for one in together]


def _is_application(document: InputDocument) -> bool:
    return GroupKind.of(document.manifest) == APPLICATION


def steps_of(objects: Sequence[dict[str, Any]]) -> tuple[SyncStep, ...]:
    """Order objects and hooks; hooks of SyncFail and of a deletion are in no step."""
    return order(task for manifest in objects for task in _tasks(manifest))


def _tasks(manifest: dict[str, Any]) -> Iterator[SyncTask]:
    """One task for an object, and one in each of its phases for a hook."""
    hook = hook_of(manifest)
    named = access.key(manifest)
    task = SyncTask(
        action=SyncAction.APPLY,
        key=named if named.name else replace(named, name=_name(manifest)),
        version=access.version(manifest),
        manifest=manifest,
        wave=wave(manifest),
        hook=hook,
    )
    if hook is None:
        yield task
    for phase in (PHASES[one] for one in (hook.phases if hook else ()) if one in PHASES):
        yield replace(task, phase=phase)


def _write(
    first: InputDocument,
    planned: RenderedInput | Sequence[dict[str, Any]],
    projects: Projects,
    *,
    as_json: bool,
) -> None:
    objects = planned.objects if isinstance(planned, RenderedInput) else planned
    steps, hooks = steps_of(objects), [one for one in objects if is_hook(one)]
    found = None
    if isinstance(planned, RenderedInput):
        found = refusals(planned.app, projects, planned.objects)
        complain(planned, found)
    if as_json:
        of: dict[str, object] = {}
        if isinstance(planned, RenderedInput):
            of = {"application": str(planned.app.key), "warnings": ignored(first)}
        output.line(
            {"file": first.file, **of, "steps": _steps(steps, found), "hooks": _hooks(hooks)}
        )
        return
    for number, step in enumerate(steps, 1):
        output.text(f"Step {number}: {step.phase.value}, wave {step.wave}")
        for task in step.tasks:
            space = f"{task.key.namespace}/" if task.key.namespace else ""
            role = " (hook)" if task.hook else ""
            output.text(f"  {task.action.value} {task.key.kind} {space}{task.key.name}{role}")
    for hook in hooks:
        shown = [phase for phase in _phases(hook) if phase not in _ON_THE_WAY]
        if shown or not _phases(hook):
            phases = ", ".join(shown) or "of no phase"
            output.text(f"Hook {phases}: {access.kind(hook)} {_name(hook)}")


def _phases(manifest: dict[str, Any]) -> list[str]:
    hook = hook_of(manifest)
    return [phase.value for phase in hook.phases] if hook else []


def _name(manifest: dict[str, Any]) -> str:
    return access.name(manifest) or f"{access.generate_name(manifest)}*"


def _steps(steps: Sequence[SyncStep], found: ProjectRefusals | None) -> list[dict[str, object]]:
    return [
        {
            "step": number,
            "phase": step.phase.value,
            "wave": step.wave,
            "objects": [_object(task, found) for task in step.tasks],
        }
        for number, step in enumerate(steps, 1)
    ]


def _object(task: SyncTask, found: ProjectRefusals | None) -> dict[str, object]:
    return {
        "action": task.action.value,
        "group": task.key.group,
        "kind": task.key.kind,
        "namespace": task.key.namespace,
        "name": task.key.name,
        **({"hook": True} if task.hook else {}),
        **({} if found is None else {"refusals": found.of(task.manifest)}),
    }


def _hooks(hooks: Sequence[dict[str, Any]]) -> list[dict[str, object]]:
    return [
        {
            "phases": _phases(hook),
            "group": access.group(hook),
            "kind": access.kind(hook),
            "namespace": access.namespace(hook),
            "name": _name(hook),
        }
        for hook in hooks
    ]
