"""`gitops app tree|resources|diff`: the objects of an application, as its agent answers now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from cli import output
from cli.command import new_group
from cli.remote import answers, command_runner, find, tables
from cli.remote.formatting import clean
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ApplicationDetail, ObjectDiff, TreeNode
from cli.remote.tables import Columns
from cli.remote.task_client import ask_agent

app = new_group()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectsOptions:
    application: command_runner.AppArgument
    context: command_runner.ContextOption = ""
    timeout: command_runner.TimeoutOption = "1m"
    as_json: command_runner.JsonOption = False


@app.command(epilog=command_runner.AGENT_ANSWER)
@takes(ObjectsOptions)
def tree(options: ObjectsOptions) -> None:
    """Show an application's objects and what they own, down to the last pod."""

    async def work(client: ServiceClient) -> output.Exit:
        seconds = command_runner.seconds("--timeout", options.timeout)
        body = await tree_of(client, await find.application(client, options.application), seconds)
        if options.as_json:
            output.line(body)
        else:
            _tree([answers.read(it, TreeNode) for it in body["nodes"]])
        return output.Exit.FINE

    command_runner.call(options.context, work)


async def tree_of(client: ServiceClient, it: ApplicationDetail, seconds: float) -> dict[str, Any]:
    """Ask the application's agent for `nodes`, each with its parents."""
    body: dict[str, Any] = await ask_agent(
        client, f"{find.path('applications', it.id)}/tree", seconds
    )
    return body


@app.command(epilog=command_runner.AGENT_ANSWER)
@takes(ObjectsOptions)
def resources(options: ObjectsOptions) -> None:
    """List the objects that an application manages, the worst first, without what they own."""

    async def work(client: ServiceClient) -> output.Exit:
        seconds = command_runner.seconds("--timeout", options.timeout)
        body = await tree_of(client, await find.application(client, options.application), seconds)
        managed = [it for it in body["nodes"] if it.get("sync")]
        if options.as_json:
            output.lines(managed)
        else:
            _resources([answers.read(it, TreeNode) for it in managed])
        return output.Exit.FINE

    command_runner.call(options.context, work)


@app.command(
    epilog=f"Exit codes: 0 no differences, 1 differences, {command_runner.REFUSALS}, 5 no answer."
)
@takes(ObjectsOptions)
def diff(options: ObjectsOptions) -> None:
    """Compare desired with live, asked of the agent now; values of Secrets are masked."""

    async def work(client: ServiceClient) -> output.Exit:
        seconds = command_runner.seconds("--timeout", options.timeout)
        found = await find.application(client, options.application)
        body = await ask_agent(client, f"{find.path('applications', found.id)}/diff", seconds)
        if options.as_json:
            output.line(body)
        else:
            _differences([answers.read(it, ObjectDiff) for it in body["objects"]])
        return output.Exit.NO if body["objects"] else output.Exit.FINE

    command_runner.call(options.context, work)


def _resources(nodes: Sequence[TreeNode]) -> None:
    rows = [
        (
            f"{it.group}/{it.kind}".lstrip("/"),
            f"{it.namespace}/{it.name}".lstrip("/"),
            tables.status(it.sync),
            tables.status(it.health),
            it.health_message,
        )
        for it in reversed(_worst_last(nodes))
    ]
    columns = Columns(head=("Kind", "Name", "Sync", "Health", "Message"), kept=2, sentence=True)
    tables.table(columns, rows, "It manages no objects.")


def _tree(nodes: Sequence[TreeNode]) -> None:
    known = {_key(it) for it in nodes}
    roots = [it for it in nodes if not known.intersection(it.parents)]
    if not roots:
        output.text("It has no objects.")
    for depth, node in _walk(roots, nodes):
        states = [tables.status(it) for it in (node.sync, node.health) if it]
        name = f"{node.namespace}/{node.name}".lstrip("/")
        tables.line(node.kind, name, *states, *node.info, node.health_message, indent=depth)


def _walk(roots: Sequence[TreeNode], nodes: Sequence[TreeNode]) -> Iterator[tuple[int, TreeNode]]:
    """Walk each node once with its depth, parents before children, the worst children first."""
    waiting = [(0, it) for it in _worst_last(roots)]
    seen: set[str] = set()
    while waiting:
        depth, node = waiting.pop()
        if _key(node) in seen:
            continue
        seen.add(_key(node))
        yield depth, node
        children = [it for it in nodes if _key(node) in it.parents]
        waiting.extend((depth + 1, it) for it in _worst_last(children))


def _worst_last(nodes: Sequence[TreeNode]) -> list[TreeNode]:
    def order(it: TreeNode) -> tuple[int, str]:
        return tables.badness(it.health, it.sync), _key(it)

    return sorted(nodes, key=order, reverse=True)


def _key(it: TreeNode) -> str:
    return f"{it.group}/{it.kind}/{it.namespace}/{it.name}"


def _differences(objects: Sequence[ObjectDiff]) -> None:
    if not objects:
        output.text("No differences.")
    for it in objects:
        state = "to create" if it.live is None else "to prune" if it.desired is None else "differs"
        output.text(f"{clean(it.key)} {state}")
        for change in it.changes:
            live, desired = (_short(each) for each in (change.live, change.desired))
            output.text(f"  {clean(change.path)}: {live} -> {desired}")


def _short(value: object) -> str:
    return clean(msgspec.json.encode(value).decode())
