"""`gitops login` and `gitops logout`: begin and end a session at a service.

A password or token is typed without echo, piped in, or read from a file; it is never an argument,
which other users and the shell's history would see. Of a password only its
session is kept.
"""

from __future__ import annotations

import asyncio
import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
import typer

from cli import output
from cli.command import new_group
from cli.remote import command_runner, contexts
from cli.remote.contexts import SavedLogin, ServiceContext
from cli.remote.errors import NotLoggedInError, ServiceError
from cli.remote.formatting import clean
from cli.remote.service_client import open_service_client

app = new_group()

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LONGEST = 4096


@app.command(epilog="Exit codes: 0 logged in, 2 wrong usage, 3 not reachable, 4 refused.")
def login(  # noqa: PLR0913  a command's options are its parameters
    url: Annotated[str, typer.Argument(help="Of the service: https://gitops.example.com.")],
    name: Annotated[
        str, typer.Option("--name", help="Name of the user; without it, a prompt asks.")
    ] = "",
    context: Annotated[
        str, typer.Option("--context", help="What to call this login; else the host's name.")
    ] = "",
    password_file: Annotated[
        Path | None, typer.Option("--password-file", help="Holds the password, or the token.")
    ] = None,
    ca_file: Annotated[
        Path | None, typer.Option("--ca-file", help="Authority to trust, as PEM.")
    ] = None,
    *,
    token: Annotated[bool, typer.Option("--token", help="An API token, no password.")] = False,
    insecure_http: Annotated[
        bool, typer.Option("--insecure-http", help="Send the secret without encryption.")
    ] = False,
) -> None:
    """Log in with a password, or with an API token as pipelines do."""

    def work() -> output.Exit:
        base = _origin(url, insecure=insecure_http)
        who = "" if token else name or _asked_name()
        secret = _secret("API token" if token else f"Password of {who}", password_file)
        blank = ServiceContext(url=base, login=SavedLogin.TOKEN, secret="", ca_file=_ca(ca_file))
        proven = asyncio.run(_with_token(blank, secret) if token else _open(blank, who, secret))
        named = context or urlsplit(base).netloc
        contexts.write(contexts.read().with_(named, proven))
        output.text(f"logged in at {base} as {clean(proven.who)} (context {named})")
        return output.Exit.FINE

    command_runner.ends(work)


@app.command(epilog="Exit codes: 0 logged out, 4 there was no login.")
def logout(context: command_runner.ContextOption = "") -> None:
    """End the session at the service, and forget it here; a token is forgotten only."""

    def work() -> output.Exit:
        known = contexts.read()
        ended = known.chosen(context)
        named = context or known.current
        contexts.write(known.without(named))
        if ended.login is SavedLogin.SESSION:
            _end(ended)
        output.text(f"logged out (context {named})")
        return output.Exit.FINE

    command_runner.ends(work)


async def _open(blank: ServiceContext, name: str, password: str) -> ServiceContext:
    async with open_service_client(blank) as client:
        with _login_problem("an administrator can set another: Settings, Members"):
            opened, cookie = await client.login(name, password)
    return msgspec.structs.replace(
        blank,
        login=SavedLogin.SESSION,
        secret=cookie,
        csrf=str(opened["csrf"]),
        who=str(opened["principal"]["name"]),
    )


async def _with_token(blank: ServiceContext, token: str) -> ServiceContext:
    made = msgspec.structs.replace(blank, secret=token)
    async with open_service_client(made) as client:
        with _login_problem("make another: Settings, Tokens", "the token grants no access here"):
            me = await client.get("/me")
    return msgspec.structs.replace(made, who=str(me["principal"]["name"]))


@contextmanager
def _login_problem(remedy: str, instead: str = "") -> Iterator[None]:
    """Explain a refused login without the advice to log in."""
    try:
        yield
    except NotLoggedInError as e:
        sentence = instead or e.detail
        raise ServiceError(f"{sentence.rstrip('.')}; {remedy}", e.code) from e


def _end(context: ServiceContext) -> None:
    """End the session; one that the service no longer knows has ended as well."""

    async def end() -> None:
        async with open_service_client(context) as client:
            await client.post("/logout")

    try:
        asyncio.run(end())
    except ServiceError as e:
        if e.code is not output.Exit.FORBIDDEN:
            raise


def _origin(url: str, *, insecure: bool) -> str:
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if host is None or parts.scheme not in ("http", "https") or parts.path.strip("/"):
        raise ServiceError(
            f"expected a URL such as https://gitops.example.com, found {clean(url)!r}",
            output.Exit.BAD_INPUT,
        )
    if parts.username or parts.password:
        raise ServiceError("the URL must not hold a user or password", output.Exit.BAD_INPUT)
    if parts.scheme == "http" and host not in _LOOPBACK and not insecure:
        remedy = "Use https, or say --insecure-http"
        raise ServiceError(
            f"{host} would get the secret unencrypted. {remedy}", output.Exit.BAD_INPUT
        )
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _asked_name() -> str:
    if not sys.stdin.isatty():
        raise ServiceError("say who logs in: --name NAME", output.Exit.BAD_INPUT)
    sys.stderr.write("Name: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _secret(what: str, file: Path | None) -> str:
    try:
        if file is not None:
            found = file.read_text("utf-8")[:_LONGEST]
        elif sys.stdin.isatty():
            found = getpass.getpass(f"{what}: ", stream=sys.stderr)
        else:
            found = sys.stdin.readline(_LONGEST)
    except (OSError, UnicodeDecodeError) as e:
        raise ServiceError(f"--password-file {file}: cannot be read", output.Exit.BAD_INPUT) from e
    found = found.strip("\r\n")
    if not found or not found.isprintable():
        raise ServiceError(f"no {what.lower()} was given", output.Exit.BAD_INPUT)
    return found


def _ca(file: Path | None) -> str:
    return str(file.resolve()) if file else ""
