"""`gitops actions`: what may be done to an object, and what each action would change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
import typer

from agent.clock import SystemClock
from cli import output
from cli.command import new_group
from cli.local.inputs import InputDocument, InputError, InputManifests, read_bytes, refuse
from handlers.actions.action import ActionCall, ActionChange, ActionError, ResourceAction
from handlers.actions.catalogue import actions_of
from handlers.actions.listing import ActionOffer, DiscoveryError, discovered, offers
from handlers.actions.script_changes import script_changes
from handlers.manifest import access
from sandbox.client.binary import SandboxMissingError
from sandbox.client.errors import SandboxError

app = new_group()
_OPEN_LIBS = "Give SCRIPT string, math and os too, as useOpenLibs does."
_JSON = "Print one line of JSON per object."
Answer = dict[str, Any]


@app.command(name="list", epilog="Exit codes: 0 listed, 2 bad input.")
def list_actions(
    files: Annotated[list[str], typer.Argument(help="Files with objects; `-` reads stdin.")],
    lua: Annotated[
        str, typer.Option(metavar="SCRIPT", help="A script as discovery.lua of argocd-cm.")
    ] = "",
    *,
    use_open_libs: Annotated[bool, typer.Option("--use-open-libs", help=_OPEN_LIBS)] = False,
    as_json: Annotated[bool, typer.Option("--json", help=_JSON)] = False,
) -> None:
    """List the actions of each object in FILES; a disabled one makes no sense for it now."""
    script = _Script.read(lua, use_open_libs=use_open_libs)

    async def answer(document: InputDocument, manifests: InputManifests) -> Answer:
        found = await _offers(document, script, manifests)
        return {"actions": [msgspec.to_builtins(one) for one in found]}

    _answer_all(files, answer, _listed, as_json=as_json)


@app.command(epilog="Exit codes: 0 the changes are shown, 2 bad input or no such action.")
def run(
    action: Annotated[str, typer.Argument(help="Its name, as `gitops actions list` prints it.")],
    files: Annotated[list[str], typer.Argument(help="Files with objects; `-` reads stdin.")],
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="A parameter.")
    ] = None,
    lua: Annotated[
        str, typer.Option(metavar="SCRIPT", help="A script as action.lua of argocd-cm.")
    ] = "",
    *,
    use_open_libs: Annotated[bool, typer.Option("--use-open-libs", help=_OPEN_LIBS)] = False,
    as_json: Annotated[bool, typer.Option("--json", help=_JSON)] = False,
) -> None:
    """Show what ACTION would change; nothing is written to a cluster."""
    script = _Script.read(lua, use_open_libs=use_open_libs)
    call = ActionCall(now=SystemClock().now(), params=_params(param or []))

    async def answer(document: InputDocument, manifests: InputManifests) -> Answer:
        changes = await _changes(document, action, call, script, manifests)
        return {"action": action, "changes": [msgspec.to_builtins(one) for one in changes]}

    _answer_all(files, answer, _changed, as_json=as_json)


class _Script(msgspec.Struct, frozen=True):
    text: str
    use_open_libs: bool

    @classmethod
    def read(cls, file: str, *, use_open_libs: bool) -> _Script | None:
        if not file:
            return None
        try:
            return cls(read_bytes(file).decode("utf-8", "replace"), use_open_libs)
        except InputError as e:
            output.stop(str(e))

    def params(self, **globals_: object) -> dict[str, Any]:
        return {"script": self.text, "useOpenLibs": self.use_open_libs, "globals": globals_}


def _params(written: list[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in written]
    for name, equals, _ in pairs:
        if not (name and equals):
            output.stop(f"--param {name!r}: expected NAME=VALUE")
    return {name: value for name, _, value in pairs}


async def _offers(
    document: InputDocument, script: _Script | None, manifests: InputManifests
) -> tuple[ActionOffer, ...]:
    if script is None:
        return offers(document.manifest)
    try:
        return discovered(await _evaluated(document, script, manifests))
    except DiscoveryError as e:
        raise document.refused(str(e)) from e


async def _changes(
    document: InputDocument,
    name: str,
    call: ActionCall,
    script: _Script | None,
    manifests: InputManifests,
) -> tuple[ActionChange, ...]:
    manifest = document.manifest
    try:
        if script is not None:
            body = await _evaluated(document, script, manifests, actionParams=call.params)
            return script_changes(body, manifest)
        return _action(manifest, name).run(manifest, call)
    except ActionError as e:
        raise document.refused(str(e)) from e


def _action(manifest: access.Manifest, name: str) -> ResourceAction:
    """The action of the object's kind; raises ActionError."""
    known = actions_of(access.group(manifest), access.kind(manifest))
    for one in known:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in known) or "none"
    raise ActionError(f"{access.kind(manifest)} has no action {name}; it has {names}")


async def _evaluated(
    document: InputDocument, script: _Script, manifests: InputManifests, **globals_: object
) -> bytes:
    sandbox = await manifests.sandbox()
    body = msgspec.json.encode(document.manifest)
    try:
        return await sandbox.evaluate("lua", script.params(**globals_), body)
    except SandboxError as e:
        raise document.refused(f"the script failed: {e.message.strip()}") from e


def _answer_all(
    files: list[str],
    answer: Callable[[InputDocument, InputManifests], Awaitable[Answer]],
    text: Callable[[Answer], str],
    *,
    as_json: bool,
) -> None:
    """Answer every input; one that is refused stops no other."""

    async def each() -> bool:
        bad = False
        async with InputManifests() as manifests:
            async for document in manifests.each(files):
                try:
                    if isinstance(document, InputError):
                        raise document
                    _write(document, await answer(document, manifests), text, as_json=as_json)
                except InputError as e:
                    refuse(e, as_json=as_json)
                    bad = True
        return bad

    try:
        refused = asyncio.run(each())
    except (InputError, SandboxMissingError) as e:
        output.stop(str(e))
    raise typer.Exit(output.Exit.BAD_INPUT if refused else output.Exit.FINE)


def _write(
    document: InputDocument, answer: Answer, text: Callable[[Answer], str], *, as_json: bool
) -> None:
    kind, name = access.kind(document.manifest), access.name(document.manifest)
    if as_json:
        output.line({"file": document.file, "kind": kind, "name": name, **answer})
    else:
        output.text(f"{kind}/{name}  {text(answer)}")


def _listed(answer: Answer) -> str:
    words = [f"({one['name']})" if one["disabled"] else one["name"] for one in answer["actions"]]
    return " ".join(words) or "no actions"


def _changed(answer: Answer) -> str:
    lines = [
        f"{one['kind']} {msgspec.json.encode(one['content']).decode()}" for one in answer["changes"]
    ]
    return "\n  ".join(["", *lines]) if lines else "nothing changes"
