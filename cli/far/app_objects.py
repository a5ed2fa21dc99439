"""`gitops app tree|diff`: an application's objects, and what differs, asked of its agent now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from cli import say
from cli.far import calling, find, shapes, show
from cli.far.asking import asked
from cli.far.client import Far
from cli.far.text import clean

app = calling.new_app()


@app.command(
    epilog=f"Exit codes: 0 fine, 1 the agent could not, {calling.REFUSALS}, 5 no answer in time."
)
def tree(
    application: calling.AppArgument,
    context: calling.ContextOption = "",
    timeout: calling.TimeoutOption = "1m",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """Its objects and what they own, down to the last pod."""

    async def work(far: Far) -> say.Exit:
        seconds = calling.seconds("--timeout", timeout)
        found = await find.application(far, application)
        body = await asked(far, f"{find.path('applications', found.id)}/tree", seconds)
        if as_json:
            say.line(body)
        else:
            _tree([shapes.read(it, shapes.Node) for it in body["nodes"]])
        return say.Exit.FINE

    calling.call(context, work)


@app.command(
    epilog=f"Exit codes: 0 no differences, 1 differences, {calling.REFUSALS}, 5 no answer."
)
def diff(
    application: calling.AppArgument,
    context: calling.ContextOption = "",
    timeout: calling.TimeoutOption = "1m",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """Desired beside live, asked of the agent now; values of Secrets are masked."""

    async def work(far: Far) -> say.Exit:
        seconds = calling.seconds("--timeout", timeout)
        found = await find.application(far, application)
        body = await asked(far, f"{find.path('applications', found.id)}/diff", seconds)
        if as_json:
            say.line(body)
        else:
            _differences([shapes.read(it, shapes.Object) for it in body["objects"]])
        return say.Exit.NO if body["objects"] else say.Exit.FINE

    calling.call(context, work)


def _tree(nodes: Sequence[shapes.Node]) -> None:
    known = {_key(it) for it in nodes}
    roots = [it for it in nodes if not known.intersection(it.parents)]
    if not roots:
        say.text("It has no objects.")
    for depth, node in _walk(roots, nodes):
        states = [show.status(it) for it in (node.sync, node.health) if it]
        name = f"{node.namespace}/{node.name}".lstrip("/")
        show.line(node.kind, name, *states, *node.info, node.health_message, indent=depth)


def _walk(
    roots: Sequence[shapes.Node], nodes: Sequence[shapes.Node]
) -> Iterator[tuple[int, shapes.Node]]:
    """Each node once, with its depth, parents before children and the worst of them first."""
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


def _worst_last(nodes: Sequence[shapes.Node]) -> list[shapes.Node]:
    def order(it: shapes.Node) -> tuple[int, str]:
        return show.badness(it.health, it.sync), _key(it)

    return sorted(nodes, key=order, reverse=True)


def _key(it: shapes.Node) -> str:
    return f"{it.group}/{it.kind}/{it.namespace}/{it.name}"


def _differences(objects: Sequence[shapes.Object]) -> None:
    if not objects:
        say.text("No differences.")
    for it in objects:
        state = "to create" if it.live is None else "to prune" if it.desired is None else "differs"
        say.text(f"{clean(it.key)} {state}")
        for change in it.changes:
            live, desired = (_short(each) for each in (change.live, change.desired))
            say.text(f"  {clean(change.path)}: {live} -> {desired}")


def _short(value: object) -> str:
    return clean(msgspec.json.encode(value).decode())
