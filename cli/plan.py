"""`gitops plan`: in which order a sync would apply objects: waves, then kinds, then names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from agent.sandbox.binary import SandboxMissingError
from cli import say
from cli.inputs import Document, InputError, Manifests, refuse, sorted_out
from cli.refusals import Projects, Refusals, is_project, projects_of, refusals
from cli.render import Rendered, complain, rendered
from handlers.manifest import access
from handlers.manifest.hooks import is_hook
from handlers.manifest.kinds import GroupKind
from handlers.manifest.order import wave
from handlers.ports import RepositoryError
from handlers.sync.plan import Action, Step, Task
from handlers.sync.plan import plan as order

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_APPLICATION = GroupKind("argoproj.io", "Application")


@app.command(epilog="Exit codes: 0 planned, 2 an input cannot be used.")
def plan(
    file: Annotated[
        list[str], typer.Option("-f", "--file", help="Applications or manifests; repeatable.")
    ],
    repo: Annotated[
        str, typer.Option(metavar="DIR", help="Files of the Applications; else their repoURL.")
    ] = "",
    revision: Annotated[str, typer.Option(help="Of --repo: this commit.")] = "",
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON per object.")] = False,
) -> None:
    """The steps in which objects would be applied; the next begins when the last is healthy.

    An Application is rendered and planned by itself; the plain manifests of a file are one plan.
    What the agent would refuse by the AppProjects in FILE is said.
    """
    say.as_it_comes()
    try:
        raise typer.Exit(asyncio.run(_plan_all(file, repo, revision, as_json=as_json)))
    except SandboxMissingError as e:
        say.stop(str(e))


async def _plan_all(files: Sequence[str], repo: str, revision: str, *, as_json: bool) -> say.Exit:
    worst = say.Exit.FINE
    async with Manifests() as manifests:
        inputs = [sorted_out(await manifests.examine(file)) for file in files]
        projects, bad = _projects(inputs)
        for found in (*bad, *_sets(inputs, with_projects=projects is None)):
            try:
                if isinstance(found, InputError):
                    raise found
                planned = await _planned(found, manifests, repo, revision)
                _say(found[0].file, planned, projects or {}, as_json=as_json)
            except (InputError, RepositoryError) as e:
                file = "" if isinstance(found, InputError) else found[0].file
                worst = refuse(e, file, as_json=as_json)
    return worst


Inputs = Sequence[tuple[list[Document], list[InputError]]]
"""Of each file what can be used, and what cannot."""


def _projects(inputs: Inputs) -> tuple[Projects | None, list[InputError]]:
    """AppProjects are rules where there are Applications; else they are manifests (None)."""
    documents = [one for good, _ in inputs for one in good]
    return projects_of(documents) if any(map(_is_application, documents)) else (None, [])


def _sets(inputs: Inputs, *, with_projects: bool) -> Iterator[Sequence[Document] | InputError]:
    """What is planned together: each Application, and the plain manifests of a file."""
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
    together: Sequence[Document], manifests: Manifests, repo: str, revision: str
) -> Rendered | Sequence[dict[str, Any]]:
    first = together[0]
    if _is_application(first):
        return await rendered(first, manifests, repo, revision)
    return [one.manifest for one in together]


def _is_application(document: Document) -> bool:
    return GroupKind.of(document.manifest) == _APPLICATION


def steps_of(objects: Sequence[dict[str, Any]]) -> tuple[Step, ...]:
    return order(_task(manifest) for manifest in objects if not is_hook(manifest))


def _task(manifest: dict[str, Any]) -> Task:
    return Task(
        action=Action.APPLY,
        key=access.key(manifest),
        version=access.version(manifest),
        manifest=manifest,
        wave=wave(manifest),
    )


def _say(
    file: str, planned: Rendered | Sequence[dict[str, Any]], projects: Projects, *, as_json: bool
) -> None:
    objects = planned.objects if isinstance(planned, Rendered) else planned
    steps = steps_of(objects)
    found = None
    if isinstance(planned, Rendered):
        found = refusals(planned.app, projects, planned.objects)
        complain(planned, found)
    if as_json:
        say.lines(_lines(file, steps, found))
        return
    for number, step in enumerate(steps, 1):
        say.text(f"Step {number}: {step.phase.value}, wave {step.wave}")
        for task in step.tasks:
            space = f"{task.key.namespace}/" if task.key.namespace else ""
            say.text(f"  {task.action.value} {task.key.kind} {space}{task.key.name}")
    if hooks := sum(map(is_hook, objects)):
        say.text(f"{hooks} hooks are not part of the plan: this version does not act on them yet")


def _lines(file: str, steps: Sequence[Step], found: Refusals | None) -> Iterator[dict[str, object]]:
    for number, step in enumerate(steps, 1):
        for task in step.tasks:
            yield {
                "file": file,
                "step": number,
                "phase": step.phase.value,
                "wave": step.wave,
                "action": task.action.value,
                "group": task.key.group,
                "kind": task.key.kind,
                "namespace": task.key.namespace,
                "name": task.key.name,
                **({} if found is None else {"refusals": found.of(task.manifest)}),
            }
