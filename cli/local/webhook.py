"""`gitops webhook parse`: the content of a Git host's delivery, by the agent's own parsers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

import typer

from agent.ingress.webhooks.delivery import DeliveryOutcome, ReceivedDelivery, receive
from agent.ingress.webhooks.provider import addressed
from agent.ingress.webhooks.providers import PROVIDERS, provider_titles
from agent.ingress.webhooks.push import Push
from agent.ingress.webhooks.webhook_secrets import WebhookSecrets
from cli import output
from cli.command import new_group
from cli.local.inputs import InputError, read_bytes

app = new_group()


@app.callback(help=f"Read webhook deliveries of {provider_titles()}.")
def webhook() -> None:
    """Read webhook deliveries."""


@app.command(
    help=f"Read webhook deliveries of {provider_titles()}. The signature or token is checked only"
    " where a secret is given.",
    epilog="Exit codes: 0 a push, or an event that brings no commits; 1 not signed with the"
    " secret; 2 malformed or unknown.",
)
def parse(
    headers: Annotated[
        list[str],
        typer.Option(
            help="File with the headers: `Name: value` lines, or JSON. Its first line may be that"
            " of the request, whose address names the provider: `POST /api/webhook/quay HTTP/1.1`."
        ),
    ],
    body: Annotated[list[str], typer.Option(help="File with the body, one for each --headers.")],
    *,
    secret: Annotated[
        str, typer.Option(metavar="FILE", help="File with the secret to check against.")
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON per delivery.")
    ] = False,
) -> None:
    """Read deliveries."""
    if len(headers) == 1:
        headers = headers * len(body)
    if len(headers) != len(body):
        output.stop(f"{len(headers)} --headers and {len(body)} --body: expected as many of each")
    try:
        known = _secrets(secret)
    except InputError as e:
        output.stop(str(e))
    pairs = zip(headers, body, strict=True)
    raise typer.Exit(max(_one(*pair, known, as_json=as_json) for pair in pairs))


def _secrets(file: str) -> WebhookSecrets:
    secret = read_bytes(file).strip() if file else None
    keys = (key for provider in PROVIDERS for key in provider.secret_keys)
    return WebhookSecrets(values=dict.fromkeys(keys, secret) if secret else {})


def _one(headers: str, body: str, secrets: WebhookSecrets, *, as_json: bool) -> output.Exit:
    """Parse one delivery into an answer that names the file of its body."""
    try:
        received = receive(read_headers(headers), read_bytes(body), secrets)
    except InputError as e:
        _refuse(body, str(e), as_json=as_json)
        return output.Exit.BAD_INPUT
    if received.outcome in (DeliveryOutcome.ACCEPTED, DeliveryOutcome.IGNORED):
        _answer(body, received, as_json=as_json)
        return output.Exit.FINE
    _refuse(body, f"{body}: {received.message}", as_json=as_json)
    return (
        output.Exit.NO
        if received.outcome is DeliveryOutcome.UNAUTHORIZED
        else output.Exit.BAD_INPUT
    )


def _refuse(body: str, why: str, *, as_json: bool) -> None:
    output.complain(why)
    if as_json:
        output.line({"file": body, "error": why})


def read_headers(file: str) -> dict[str, str]:
    """Read headers, names in lower case, from lines or a JSON object; raises InputError."""
    content = read_bytes(file).decode("latin-1")
    if content.lstrip().startswith("{"):
        return _json_headers(file, content)
    found: dict[str, str] = {}
    for number, line in enumerate(content.splitlines(), 1):
        name, colon, value = line.partition(":")
        if _is_request_line(line, number):
            found |= _of_address(line)
        elif colon:
            found[name.strip().lower()] = value.strip()
        elif line.strip():
            raise InputError(f"{file}, line {number}: expected `Name: value`, found {line[:60]!r}")
    return found


def _json_headers(file: str, content: str) -> dict[str, str]:
    try:
        document = json.loads(content)
    except ValueError as e:
        raise InputError(f"{file}: not JSON: {e}") from e
    return {
        name.lower(): value[0] if isinstance(value, list) and value else str(value)
        for name, value in document.items()
    }


def _is_request_line(line: str, number: int) -> bool:
    """Recognise the line `POST /api/webhook HTTP/1.1` of a recorded request."""
    return number == 1 and line.startswith("POST ")


def _of_address(line: str) -> Mapping[str, str]:
    """Read `POST /api/webhook/quay?token=x HTTP/1.1`: the provider and the token of the address."""
    target = urlsplit(line.split()[1]) if len(line.split()) > 1 else urlsplit("")
    name = target.path.removeprefix("/api/webhook").removeprefix("/")
    return addressed({}, name, parse_qs(target.query).get("token", [""])[0])


def _answer(body: str, received: ReceivedDelivery, *, as_json: bool) -> None:
    answer = _fields(received, received.push)
    if as_json:
        output.line({"file": body, **answer})
        return
    for name, value in answer.items():
        shown = ", ".join(value) if isinstance(value, tuple) else value
        output.text(f"{name + ':':<14}{'unknown' if shown is None else shown}")


def _fields(received: ReceivedDelivery, push: Push | None) -> dict[str, object]:
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
