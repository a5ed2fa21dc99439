"""What `gitops cluster` and `gitops repo` share: connections of agents, and credentials for them.

A credential is read from a file, never from the command line, and sealed to the agent's key before
it leaves this machine: the service passes it on. The service hands out the key too, so one that
lies about the key can read what is sealed; a Secret of the cluster (`--secret`) never passes it.
"""

from __future__ import annotations

import base64
import binascii
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol
from urllib.parse import urlsplit

import typer
from nacl.exceptions import CryptoError
from nacl.public import PublicKey, SealedBox

from bus.link.sealing import sealing_fingerprint
from cli import output
from cli.remote import answers, command_runner, find, tables, task_client
from cli.remote.confirmation import YesOption, confirm
from cli.remote.errors import ServiceError
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ConnectionSummary

_LARGEST = 64 * 1024
_STANDARD_INPUT = "-"
_HTTP = ("http", "https")

SecretOption = Annotated[
    str,
    typer.Option(
        "--secret", help="A Secret of the agent's namespace that holds the credential already."
    ),
]
ProjectOption = Annotated[
    str, typer.Option("--project", help="Only for applications of this AppProject.")
]


FingerprintOption = Annotated[
    str,
    typer.Option(
        "--sealing-key-fingerprint",
        metavar="SHA256:...",
        help="Seal to this key of the agent only, which its log and `gitops agent check` name.",
    ),
]


class CredentialOptions(Protocol):
    """The options that say where a credential is, and to whom it is sealed."""

    @property
    def secret(self) -> str: ...
    @property
    def sealing_key_fingerprint(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionWords:
    """A kind of connection: its `noun` in the REST API, its `word`, and what a removal takes."""

    noun: str
    word: str
    lost: str

    def change(self, participle: str) -> task_client.ChangeRequest:
        return task_client.ChangeRequest(noun=self.word, participle=participle)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveOptions:
    connection: Annotated[
        str, typer.Argument(metavar="NAME", help="NAME, AGENT/NAME, its address or an id.")
    ]
    yes: YesOption = False
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "5m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


async def listed(client: ServiceClient, noun: str) -> tuple[list[Any], list[ConnectionSummary]]:
    """List the connections as they came, and as people read them, those that fail first."""
    plain = [it async for it in client.pages(f"/{noun}")]
    found = [answers.read(it, ConnectionSummary) for it in plain]
    return plain, sorted(found, key=lambda it: (tables.badness(it.status), it.agent.name, it.name))


def show_all(
    words: ConnectionWords,
    context: str,
    table: Callable[[list[ConnectionSummary]], None],
    *,
    as_json: bool,
) -> None:
    """Print the connections, as a table or as JSON."""

    async def work(client: ServiceClient) -> output.Exit:
        plain, found = await listed(client, words.noun)
        if as_json:
            output.lines(plain)
        else:
            table(found)
        return output.Exit.FINE

    command_runner.call(context, work)


def show_one(
    words: ConnectionWords,
    name: str,
    context: str,
    facts: Callable[[ConnectionSummary], None],
    *,
    as_json: bool,
) -> None:
    """Print one connection, as facts or as JSON."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.connection(client, words.noun, name)
        plain = await client.get(find.path(words.noun, found.id))
        if as_json:
            output.line(plain)
        else:
            facts(answers.read(plain, ConnectionSummary))
        return output.Exit.FINE

    command_runner.call(context, work)


async def remove(
    client: ServiceClient, words: ConnectionWords, options: RemoveOptions
) -> output.Exit:
    found = await find.connection(client, words.noun, options.connection)
    name = f"{found.agent.name}/{found.name}"
    what = f"{words.word} {name} will be removed with its credential"
    confirm(f"{what}; {words.lost}", yes=options.yes)
    path = find.path(words.noun, found.id)
    task = await task_client.submit_task(client, path, None, "DELETE", version=found.version)
    return await task_client.wait_for_task(client, [task], options, words.change("removed"))


async def credential(
    client: ServiceClient,
    agent: str,
    options: CredentialOptions,
    sealed: Mapping[str, str] | None,
) -> dict[str, Any]:
    """Make the part of a request that names, or seals, the credential."""
    secret, expected = options.secret, options.sealing_key_fingerprint
    if expected and not sealed:
        text = "--sealing-key-fingerprint: expected a credential that is sealed, by a file"
        raise ServiceError(text, _BAD)
    if secret and sealed:
        raise ServiceError("say where the credential is once: --secret or a file", _BAD)
    if secret:
        return {"secretRef": {"name": secret}}
    if not sealed:
        return {}
    answer = await client.get(f"{find.path('agents', agent)}/sealing-key")
    try:
        key = PublicKey(base64.b64decode(answer["publicKey"]))
        found = sealing_fingerprint(answer["publicKey"])
    except (KeyError, TypeError, binascii.Error, ValueError, CryptoError) as e:
        raise ServiceError("the agent has no key to seal a credential to: is it connected?") from e
    if expected not in ("", found):
        text = (
            f"the service says that the agent's key is {found}, and {expected} is expected, so"
            " nothing was sealed: compare with `gitops agent check` beside the agent, or its log"
        )
        raise ServiceError(text, output.Exit.REFUSED)
    if not expected:
        output.complain(
            f"the credential is sealed to the key {found}, which the service says is the agent's;"
            " the agent's log and `gitops agent check` name it too"
        )
    box = SealedBox(key).encrypt(json.dumps(sealed).encode())
    return {"sealed": base64.b64encode(box).decode()}


def check_no_login(word: str, address: str) -> None:
    """Raise ServiceError, which quotes nothing, for an address with a login in it."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return  # the service says what is wrong with it
    is_login = parts.scheme.lower() in _HTTP and "@" in parts.netloc
    if is_login or parts.password is not None:
        text = (
            f"{word} has a login in it, which the service would keep in clear, so nothing was sent:"
            " leave it out, and give it by a file; your shell may remember what was typed"
        )
        raise ServiceError(text, _BAD)


def secret_of(option: str, file: str) -> str:
    """Read a credential; raises ServiceError, which quotes nothing of it."""
    try:
        if file == _STANDARD_INPUT:
            text = sys.stdin.read(_LARGEST + 1)
        else:
            with Path(file).open() as stream:
                text = stream.read(_LARGEST + 1)
    except (OSError, UnicodeDecodeError) as e:
        why = getattr(e, "strerror", None) or "it is no text"
        raise ServiceError(f"{option} {file}: {why}", _BAD) from e
    if not text.strip() or len(text) > _LARGEST:
        raise ServiceError(f"{option} {file}: expected 1 to {_LARGEST} characters", _BAD)
    return text.strip()


def pairs(found: ConnectionSummary, address: str) -> Sequence[tuple[str, tables.Cell]]:
    """The facts that every connection has."""
    return (
        ("Name", f"{found.agent.name}/{found.name}"),
        (address, found.url),
        ("Project", found.project),
        ("State", tables.status(found.status or "not used yet")),
        ("", found.message),
    )


_BAD = output.Exit.BAD_INPUT
