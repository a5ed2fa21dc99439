"""`gitops app actions|object`: what a person does with one live object of an application."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import typer
import yaml

from cli import output
from cli.command import new_group
from cli.remote import command_runner, find, tables, task_client
from cli.remote.confirmation import confirm
from cli.remote.errors import ServiceError
from cli.remote.live_options import (
    ActionRunOptions,
    ActionsOptions,
    ChangeOptions,
    ObjectDeletionOptions,
    ObjectEditOptions,
    ObjectOptions,
)
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ApplicationDetail
from cli.remote.tables import Columns
from cli.remote.task_client import ask_agent

app = new_group()
_LARGEST_PATCH = 256 * 1024


@app.command(name="list", epilog=command_runner.AGENT_ANSWER)
@takes(ActionsOptions)
def list_actions(options: ActionsOptions) -> None:
    """List the actions of one live object; a disabled one makes no sense for it now."""

    async def work(client: ServiceClient) -> output.Exit:
        seconds = command_runner.seconds("--timeout", options.timeout)
        path, named = await _object(client, options)
        body = await ask_agent(client, f"{path}/actions?{urlencode(named)}", seconds)
        if options.as_json:
            output.lines(body["actions"])
            return output.Exit.FINE
        columns = Columns(head=("Action", "Parameters", "State", "Why"), kept=3, sentence=True)
        tables.table(columns, map(_row, body["actions"]), "It has no actions.")
        if body["problem"]:
            output.complain(body["problem"])
        return output.Exit.FINE

    command_runner.call(options.context, work)


@app.command(epilog=task_client.EXITS)
@takes(ActionRunOptions)
def run(options: ActionRunOptions) -> None:
    """Run an action on one live object, or show what it would change."""
    params = dict(_params(options.param or []))
    _change(options, "actions", {"action": options.action, "params": params})


@app.command(epilog=task_client.EXITS)
@takes(ObjectEditOptions)
def edit(options: ObjectEditOptions) -> None:
    """Change one live object by a JSON merge patch; Git does not change with it."""
    _change(options, "objects/edit", {"patch": _patch(options.file)})


@app.command(epilog=task_client.EXITS)
@takes(ObjectDeletionOptions)
def delete(options: ObjectDeletionOptions) -> None:
    """Delete one live object; a person is asked first."""
    propagation = "orphan" if options.orphan else "foreground"
    _change(options, "objects/delete", {"propagation": propagation, "force": options.force})


def _change(options: ChangeOptions, verb: str, more: Mapping[str, Any]) -> None:
    async def work(client: ServiceClient) -> output.Exit:
        path, named = await _object(client, options)
        body = {**named, **more}
        if options.preview:
            seconds = command_runner.seconds("--timeout", options.timeout)
            preview = await ask_agent(client, f"{path}/{verb}/preview", seconds, body)
            _show(preview, as_json=options.as_json)
            return output.Exit.FINE
        if isinstance(options, ObjectDeletionOptions):
            text = f"{options.kind} {options.name} of {options.application} will be deleted"
            confirm(text, yes=options.yes)
            body["uid"] = await _uid(client, path, named, options)
        task = await task_client.submit_task(client, f"{path}/{verb}", body)
        return await task_client.wait_for_task(client, [task], options)

    command_runner.call(options.context, work)


async def _uid(
    client: ServiceClient, path: str, named: Mapping[str, str], options: ObjectDeletionOptions
) -> str:
    """Read the UID of the object that is there now, so that no successor of it is deleted."""
    seconds = command_runner.seconds("--timeout", options.timeout)
    body = await ask_agent(client, f"{path}/tree", seconds)
    for node in body["nodes"]:
        if all(node.get(name, "") == value for name, value in named.items()) and node.get("uid"):
            return str(node["uid"])
    text = f"{options.application} has no live {options.kind} {options.name}: see gitops app tree"
    raise ServiceError(text, output.Exit.NO)


async def _object(
    client: ServiceClient, options: ActionsOptions | ChangeOptions
) -> tuple[str, dict[str, str]]:
    """The path of the application, and the object as a request names it."""
    found = await find.application(client, options.application)
    return find.path("applications", found.id), named_object(found, options)


def named_object(found: ApplicationDetail, options: ObjectOptions) -> dict[str, str]:
    """Name the object as a request does: without a namespace it is in that of the application."""
    kind, _, group = options.kind.partition(".")
    destination = found.spec.get("destination") or {}
    namespace = options.namespace
    if namespace is None:
        namespace = str(destination.get("namespace") or "")
    return {"group": group, "kind": kind, "namespace": namespace, "name": options.name}


def _params(written: list[str]) -> Iterator[tuple[str, str]]:
    for one in written:
        name, equals, value = one.partition("=")
        if not (name and equals):
            raise typer.BadParameter(f"{one!r}: expected NAME=VALUE", param_hint="--param")
        yield name, value


def _patch(file: Path) -> dict[str, Any]:
    try:
        raw = file.read_bytes()
        document = yaml.safe_load(raw) if len(raw) <= _LARGEST_PATCH else None
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise _bad_patch(f"{file}: {error}") from error
    if not isinstance(document, dict) or not document:
        raise _bad_patch(f"{file}: expected the fields to change, at most 256 KiB")
    return document


def _bad_patch(text: str) -> typer.BadParameter:
    return typer.BadParameter(text, param_hint="--file")


def _row(action: Mapping[str, Any]) -> tuple[str, str, str, str]:
    state = "disabled" if action["disabled"] else "not permitted"
    is_plain = action["permitted"] and not action["disabled"]
    name, params = str(action["name"]), ", ".join(action["params"])
    return name, params, "" if is_plain else state, str(action["why"])


def _show(preview: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.line(preview)
        return
    rows = [(it["path"], _text(it["before"]), _text(it["after"])) for it in preview["changes"]]
    columns = Columns(head=("Field", "Before", "After"), kept=1, sentence=False)
    if rows:
        tables.table(columns, rows, "")
    for manifest in preview["creates"]:
        tables.line("would create", manifest["kind"], manifest["metadata"].get("name", ""))
    for key in preview["deletes"]:
        tables.line("would delete", key)
    for note in preview["notes"]:
        tables.line(note)


def _text(value: object) -> str:
    return "" if value is None else str(value)
