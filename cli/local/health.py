"""`gitops health`: the health of objects by Argo CD's rules, or by a Lua script."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
import typer

from bus.status import HealthStatus
from cli import output
from cli.command import new_app
from cli.local.inputs import InputDocument, InputError, InputManifests, read_bytes, refuse
from handlers.health.assess import assess
from handlers.health.states import Health
from handlers.manifest import access
from sandbox.client.binary import SandboxMissingError
from sandbox.client.errors import SandboxError
from sandbox.client.pool import Sandbox

app = new_app()


class Script(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    use_open_libs: bool


@app.command(
    epilog="Exit codes: 0 assessed, 1 something is not Healthy (--exit-code), 2 bad input."
)
def health(
    files: Annotated[list[str], typer.Argument(help="Files with objects; `-` reads stdin.")],
    lua: Annotated[
        str, typer.Option(metavar="SCRIPT", help="A health script as in argocd-cm: gets `obj`.")
    ] = "",
    *,
    use_open_libs: Annotated[
        bool,
        typer.Option(
            "--use-open-libs", help="Give SCRIPT string, math and os too, as useOpenLibs does."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON per object.")
    ] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit 1 if any is not Healthy.")
    ] = False,
) -> None:
    """Assess the health of each object in FILES by Argo CD's rules."""
    try:
        script = Script(text=_text(lua), use_open_libs=use_open_libs) if lua else None
        answers, bad = asyncio.run(_assess_all(files, script, as_json=as_json))
    except (InputError, SandboxMissingError) as e:
        output.stop(str(e))
    if bad:
        raise typer.Exit(output.Exit.BAD_INPUT)
    unhealthy = any(found and found.status != HealthStatus.HEALTHY for found in answers)
    raise typer.Exit(output.Exit.NO if exit_code and unhealthy else output.Exit.FINE)


async def _assess_all(
    files: list[str], script: Script | None, *, as_json: bool
) -> tuple[list[Health | None], bool]:
    """Assess all inputs; return every answer, and whether an input was refused."""
    answers: list[Health | None] = []
    bad = False
    async with InputManifests() as manifests:
        async for found in manifests.each(files):
            try:
                if isinstance(found, InputError):
                    raise found
                answers.append(await _one(found, script, manifests))
                _write(found, answers[-1], as_json=as_json)
            except InputError as e:
                refuse(e, as_json=as_json)
                bad = True
    return answers, bad


def _text(file: str) -> str:
    return read_bytes(file).decode("utf-8", "replace")


async def _one(
    document: InputDocument, script: Script | None, manifests: InputManifests
) -> Health | None:
    if script is None:
        return assess(document.manifest)
    return await by_script(await manifests.sandbox(), script, document)


async def by_script(sandbox: Sandbox, script: Script, document: InputDocument) -> Health | None:
    """Run a script by Argo CD's contract: `obj` in, `{status, message}` out.

    A status that Argo CD does not have becomes Unknown. Nothing or an empty status means that the
    object has no health. Raises InputError.
    """
    body = msgspec.json.encode(document.manifest)
    params = {"script": script.text, "useOpenLibs": script.use_open_libs}
    try:
        answer = msgspec.json.decode(await sandbox.evaluate("lua", params, body))
    except SandboxError as e:
        raise document.refused(f"the script failed: {e.message.strip()}") from e
    if answer is not None and not isinstance(answer, dict | list):
        shown = msgspec.json.encode(answer).decode()
        why = f"the script returned {shown}; expected a table with status and message, or nil"
        raise document.refused(why)
    return _health(answer if isinstance(answer, dict) else {})


def _health(document: dict[str, Any]) -> Health | None:
    if not document.get("status"):
        return None
    try:
        return Health(HealthStatus(document["status"]), str(document.get("message", "")))
    except ValueError:
        return Health(HealthStatus.UNKNOWN, "Lua returned an invalid health status")


def _write(document: InputDocument, answer: Health | None, *, as_json: bool) -> None:
    manifest = document.manifest
    if as_json:
        output.line(
            {
                "file": document.file,
                "kind": access.kind(manifest),
                "name": access.name(manifest),
                "status": answer.status if answer else None,
                "message": answer.message if answer else "",
            }
        )
        return
    status = answer.status if answer else "-"
    about = f"{access.kind(manifest)}/{access.name(manifest)}"
    message = f"  {answer.message}" if answer and answer.message else ""
    output.text(f"{status:<12} {about}{message}")
