"""Contexts: named logins in a file that only its owner can read.

The file is the one that GITOPS_CONTEXTS names, else `gitops/contexts.json` in XDG_CONFIG_HOME or
~/.config: mode 0600, in a folder of mode 0700. It is replaced as a whole, so a cut-off write leaves
the old one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from cli.output import Exit
from cli.remote.errors import ServiceError

VARIABLE = "GITOPS_CONTEXTS"
_FOLDER_MODE = 0o700


class SavedLogin(StrEnum):
    SESSION = "session"
    TOKEN = "token"  # noqa: S105  the name of a kind, not a secret


class ServiceContext(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One login at one service. `secret`: the session's cookie, or the API token."""

    url: str
    login: SavedLogin
    secret: str
    csrf: str = ""
    who: str = ""
    ca_file: str = ""

    def __repr__(self) -> str:
        return f"Context({self.url!r}, {self.login!r}, {self.who!r})"


class ServiceContexts(msgspec.Struct, frozen=True, kw_only=True):
    current: str = ""
    known: dict[str, ServiceContext] = {}

    def chosen(self, name: str = "") -> ServiceContext:
        """Choose a context by name, else the current one; raises ServiceError without one."""
        chosen = name or self.current
        if chosen in self.known:
            return self.known[chosen]
        if not name:
            raise ServiceError("you are not logged in. Log in: gitops login URL", Exit.FORBIDDEN)
        there = ", ".join(sorted(self.known)) or "none"
        raise ServiceError(f"--context {name}: there is no such context ({there})", Exit.BAD_INPUT)

    def with_(self, name: str, context: ServiceContext) -> ServiceContexts:
        return ServiceContexts(current=name, known={**self.known, name: context})

    def without(self, name: str) -> ServiceContexts:
        known = {each: it for each, it in self.known.items() if each != name}
        return ServiceContexts(current="" if name == self.current else self.current, known=known)


def file(environment: Mapping[str, str] = os.environ) -> Path:
    if chosen := environment.get(VARIABLE, ""):
        return Path(chosen)
    base = environment.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base.startswith("/") else Path.home() / ".config"
    return folder / "gitops" / "contexts.json"


def read() -> ServiceContexts:
    """Read the file; raises ServiceError where it has another format."""
    path = file()
    try:
        return msgspec.json.decode(path.read_bytes(), type=ServiceContexts)
    except FileNotFoundError:
        return ServiceContexts()
    except (msgspec.DecodeError, OSError) as e:
        remedy = "Mend or remove it, then log in again: gitops login URL"
        raise ServiceError(f"{path} cannot be read. {remedy}", Exit.BAD_INPUT) from e


def write(contexts: ServiceContexts) -> None:
    path = file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
        _replace(path, msgspec.json.format(msgspec.json.encode(contexts)))
    except OSError as e:
        raise ServiceError(f"{path} cannot be written: {e.strerror}", Exit.BAD_INPUT) from e


def _replace(path: Path, content: bytes) -> None:
    """Replace the file as a whole; `tempfile` creates it with mode 0600."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".contexts-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
