"""Where one is logged in: named contexts in a file that only its owner can read.

The file stands in XDG_CONFIG_HOME, else ~/.config: `gitops/contexts.json`, mode 0600, in a
folder of mode 0700. It is replaced as a whole, so a cut-off write leaves the old one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from cli.far.errors import FarError
from cli.say import Exit

_FOLDER_MODE = 0o700


class Login(StrEnum):
    SESSION = "session"
    TOKEN = "token"  # noqa: S105  the name of a kind, not a secret


class Context(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One login at one service. `secret`: the session's cookie, or the API token."""

    url: str
    login: Login
    secret: str
    csrf: str = ""
    who: str = ""
    ca_file: str = ""

    def __repr__(self) -> str:
        return f"Context({self.url!r}, {self.login!r}, {self.who!r})"


class Contexts(msgspec.Struct, frozen=True, kw_only=True):
    current: str = ""
    known: dict[str, Context] = {}

    def chosen(self, name: str = "") -> Context:
        """By name, else the current one; raises FarError where there is none."""
        wanted = name or self.current
        if wanted in self.known:
            return self.known[wanted]
        if not name:
            raise FarError("you are not logged in. Log in: gitops login URL", Exit.FORBIDDEN)
        there = ", ".join(sorted(self.known)) or "none"
        raise FarError(f"--context {name}: there is no such context ({there})", Exit.BAD_INPUT)

    def with_(self, name: str, context: Context) -> Contexts:
        return Contexts(current=name, known={**self.known, name: context})

    def without(self, name: str) -> Contexts:
        known = {each: it for each, it in self.known.items() if each != name}
        return Contexts(current="" if name == self.current else self.current, known=known)


def file(environment: Mapping[str, str] = os.environ) -> Path:
    base = environment.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base.startswith("/") else Path.home() / ".config"
    return folder / "gitops" / "contexts.json"


def read() -> Contexts:
    """Raises FarError where the file is not what we wrote."""
    path = file()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Contexts)
    except FileNotFoundError:
        return Contexts()
    except (msgspec.DecodeError, OSError) as e:
        remedy = "Mend or remove it, then log in again: gitops login URL"
        raise FarError(f"{path} cannot be read. {remedy}", Exit.BAD_INPUT) from e


def write(contexts: Contexts) -> None:
    path = file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
        _replace(path, msgspec.json.format(msgspec.json.encode(contexts)))
    except OSError as e:
        raise FarError(f"{path} cannot be written: {e.strerror}", Exit.BAD_INPUT) from e


def _replace(path: Path, content: bytes) -> None:
    """A temporary file of `tempfile` has mode 0600 from its birth."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".contexts-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
