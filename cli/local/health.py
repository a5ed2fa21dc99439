"""`gitops health`: the health of objects by our rules, by a script, or by those of argocd-cm."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
import typer

from bus.status import HealthStatus
from cli import output
from cli.command import new_app
from cli.local.inputs import InputDocument, InputError, InputManifests, read_bytes, refuse
from handlers.application.argo_settings import CONFIG_MAP
from handlers.application.health_scripts import (
    HealthScript,
    HealthScripts,
    read_scripts,
    unreadable_scripts,
)
from handlers.health.assess import assess, is_being_deleted
from handlers.health.script_answer import ScriptAnswerError, script_health
from handlers.health.states import Health
from handlers.manifest import access
from sandbox.client.binary import SandboxMissingError
from sandbox.client.errors import SandboxError
from sandbox.client.pool import Sandbox

app = new_app()


@app.command(
    epilog="Exit codes: 0 assessed, 1 something is not Healthy (--exit-code), 2 bad input."
)
def health(
    files: Annotated[list[str], typer.Argument(help="Files with objects; `-` reads stdin.")],
    lua: Annotated[
        str, typer.Option(metavar="SCRIPT", help="A health script as in argocd-cm: gets `obj`.")
    ] = "",
    argocd_cm: Annotated[
        str,
        typer.Option(
            "--argocd-cm",
            metavar="FILE",
            help="A ConfigMap whose health scripts judge their kinds.",
        ),
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
    """Assess the health of each object in FILES by the rule of its kind.

    A script of --lua judges every object, those of --argocd-cm the kinds that they name.
    """
    try:
        every = HealthScript(text=_text(lua), use_open_libs=use_open_libs) if lua else None
        answers, bad = asyncio.run(_assess_all(files, every, argocd_cm, as_json=as_json))
    except (InputError, SandboxMissingError) as e:
        output.stop(str(e))
    if bad:
        raise typer.Exit(output.Exit.BAD_INPUT)
    unhealthy = any(found and found.status != HealthStatus.HEALTHY for found in answers)
    raise typer.Exit(output.Exit.NO if exit_code and unhealthy else output.Exit.FINE)


async def _assess_all(
    files: list[str], every: HealthScript | None, config_map: str, *, as_json: bool
) -> tuple[list[Health | None], bool]:
    """Assess all inputs; return every answer, and whether an input was refused."""
    answers: list[Health | None] = []
    bad = False
    async with InputManifests() as manifests:
        scripts = await _scripts(config_map, manifests) if config_map else HealthScripts()
        async for found in manifests.each(files):
            try:
                if isinstance(found, InputError):
                    raise found
                script = every or scripts.of(*_kind(found))
                answers.append(await _one(found, script, manifests))
                _write(found, answers[-1], as_json=as_json)
            except InputError as e:
                refuse(e, as_json=as_json)
                bad = True
    return answers, bad


def _text(file: str) -> str:
    return read_bytes(file).decode("utf-8", "replace")


def _kind(document: InputDocument) -> tuple[str, str]:
    return access.group(document.manifest), access.kind(document.manifest)


async def _scripts(file: str, manifests: InputManifests) -> HealthScripts:
    """Read the scripts of a file with the ConfigMap; raises InputError."""
    for document in await manifests.read(file):
        if _kind(document) == ("", "ConfigMap"):
            data = _data(document)
            for kind in unreadable_scripts(data):
                output.complain(f"{document.location}: the health of {kind} is not text: left out")
            return read_scripts(data)
    raise InputError(f"{file}: has no ConfigMap; expected {CONFIG_MAP}", file=file)


def _data(document: InputDocument) -> dict[str, str]:
    try:
        return msgspec.convert(access.mapping(document.manifest, "data"), dict[str, str])
    except msgspec.ValidationError as e:
        raise document.refused(f"its data is not text: {e}") from e


async def _one(
    document: InputDocument, script: HealthScript | None, manifests: InputManifests
) -> Health | None:
    if script is None or is_being_deleted(document.manifest):
        return assess(document.manifest)
    return await by_script(await manifests.sandbox(), script, document)


async def by_script(
    sandbox: Sandbox, script: HealthScript, document: InputDocument
) -> Health | None:
    """Run a script by Argo CD's contract: `obj` in, `{status, message}` out; raises InputError."""
    body = msgspec.json.encode(document.manifest)
    try:
        return script_health(await sandbox.evaluate("lua", script.params, body))
    except SandboxError as e:
        raise document.refused(f"the script failed: {e.message.strip()}") from e
    except ScriptAnswerError as e:
        raise document.refused(str(e)) from e


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
