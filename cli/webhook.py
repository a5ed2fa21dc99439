"""`gitops webhook parse`: what a Git host's delivery says, with the agent's own parsers."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from agent.ingress.webhooks.push import Push
from agent.ingress.webhooks.receive import Outcome, Received, receive
from agent.ingress.webhooks.verify import Secrets
from cli import say
from cli.inputs import InputError, read_bytes

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)


@app.callback()
def webhook() -> None:
    """What a Git host's delivery says."""


@app.command(
    epilog="Exit codes: 0 a push, or an event that brings no commits; 1 not signed with the"
    " secret; 2 malformed or unknown."
)
def parse(
    headers: Annotated[
        list[str], typer.Option(help="File with the headers: `Name: value` lines, or JSON.")
    ],
    body: Annotated[list[str], typer.Option(help="File with the body, one for each --headers.")],
    *,
    secret: Annotated[
        str, typer.Option(metavar="FILE", help="File with the secret to check against.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON per delivery.")] = False,
) -> None:
    """Parse deliveries; the signature is checked only where a secret is given."""
    if len(headers) == 1:
        headers = headers * len(body)
    if len(headers) != len(body):
        say.stop(f"{len(headers)} --headers and {len(body)} --body: expected as many of each")
    try:
        known = _secrets(secret)
    except InputError as e:
        say.stop(str(e))
    pairs = zip(headers, body, strict=True)
    raise typer.Exit(max(_one(*pair, known, as_json=as_json) for pair in pairs))


def _secrets(file: str) -> Secrets:
    secret = read_bytes(file).strip() if file else None
    return Secrets(github=secret, gitlab=secret)


def _one(headers: str, body: str, secrets: Secrets, *, as_json: bool) -> say.Exit:
    """One answer, which names the body, whatever becomes of the delivery."""
    try:
        received = receive(read_headers(headers), read_bytes(body), secrets)
    except InputError as e:
        _refuse(body, str(e), as_json=as_json)
        return say.Exit.BAD_INPUT
    if received.outcome in (Outcome.ACCEPTED, Outcome.IGNORED):
        _answer(body, received, as_json=as_json)
        return say.Exit.FINE
    _refuse(body, f"{body}: {received.message}", as_json=as_json)
    return say.Exit.NO if received.outcome is Outcome.UNAUTHORIZED else say.Exit.BAD_INPUT


def _refuse(body: str, why: str, *, as_json: bool) -> None:
    say.complain(why)
    if as_json:
        say.line({"file": body, "error": why})


def read_headers(file: str) -> dict[str, str]:
    """Lower-case names -> values; from `Name: value` lines or a JSON object. Raises InputError."""
    content = read_bytes(file).decode("latin-1")
    if content.lstrip().startswith("{"):
        return _json_headers(file, content)
    found: dict[str, str] = {}
    for number, line in enumerate(content.splitlines(), 1):
        name, colon, value = line.partition(":")
        if colon:
            found[name.strip().lower()] = value.strip()
        elif line.strip() and not _is_request_line(line, number):
            raise InputError(f"{file}, line {number}: expected `Name: value`, found {line[:60]!r}")
    return found


def _json_headers(file: str, content: str) -> dict[str, str]:
    try:
        given = json.loads(content)
    except ValueError as e:
        raise InputError(f"{file}: not JSON: {e}") from e
    return {
        name.lower(): value[0] if isinstance(value, list) and value else str(value)
        for name, value in given.items()
    }


def _is_request_line(line: str, number: int) -> bool:
    """Tools that record a request begin with `POST /api/webhook HTTP/1.1`."""
    return number == 1 and line.startswith("POST ")


def _answer(body: str, received: Received, *, as_json: bool) -> None:
    answer = _fields(received, received.push)
    if as_json:
        say.line({"file": body, **answer})
        return
    for name, value in answer.items():
        shown = ", ".join(value) if isinstance(value, tuple) else value
        say.text(f"{name + ':':<14}{'unknown' if shown is None else shown}")


def _fields(received: Received, push: Push | None) -> dict[str, object]:
    if push is None:
        nothing = {"repositories": (), "ref": "", "before": "", "after": "", "paths": None}
        return {"provider": received.provider, "event": received.event, **nothing}
    return {
        "provider": push.provider,
        "event": push.event,
        "repositories": push.repositories,
        "ref": push.ref,
        "before": push.before,
        "after": push.after,
        "paths": push.paths,
    }
