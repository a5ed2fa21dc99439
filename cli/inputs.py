"""Files with Kubernetes objects as arguments of a command: several files, several documents each.

JSON is read here; YAML by the sandbox, as Kubernetes reads it. Every refusal names the file, and
the document where there is one. `-` is standard input.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

import msgspec

from agent.sandbox.pool import Sandbox
from agent.sandbox.reasons import SandboxError
from cli.sandbox import open_sandbox
from handlers.manifest import access

LARGEST = 32 * 1024 * 1024
STANDARD_INPUT = "-"


class InputError(Exception):
    """An input cannot be used: the message names it and says what was expected."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    number: int
    """From 1, as the objects stand in the file; items of a List count each."""
    manifest: dict[str, Any]

    @property
    def about(self) -> str:
        """`Deployment shop/web`, for people."""
        space = access.namespace(self.manifest)
        name = access.name(self.manifest)
        return f"{access.kind(self.manifest)} {space + '/' if space else ''}{name}"


def read_bytes(file: str) -> bytes:
    """Raises InputError; never reads more than LARGEST."""
    try:
        content = _read(file)
    except IsADirectoryError:
        raise InputError(f"{file}: is a directory; name the files in it") from None
    except OSError as e:
        raise InputError(f"{file}: cannot be read: {e.strerror}") from e
    if len(content) > LARGEST:
        raise InputError(f"{file}: is larger than the limit of {LARGEST >> 20} MiB")
    if not content.strip():
        raise InputError(f"{file}: is empty")
    return content


class Manifests:
    """Reads documents; starts a sandbox when the first YAML comes. Use as `async with`."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._sandbox: Sandbox | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def sandbox(self) -> Sandbox:
        """Raises InputError where there is no sandbox program."""
        if self._sandbox is None:
            self._sandbox = await self._stack.enter_async_context(open_sandbox())
        return self._sandbox

    async def read(self, file: str) -> Sequence[Document]:
        """All objects of `file`; raises InputError."""
        content = read_bytes(file)
        values = _as_json(content)
        if values is None:
            values = await self._as_yaml(file, content)
        return _documents(file, values)

    async def each(self, files: Sequence[str]) -> AsyncIterator[Document | InputError]:
        """Every object, or why a file has none: one bad file does not stop the others."""
        for file in files:
            found: Sequence[Document | InputError]
            try:
                found = await self.read(file)
            except InputError as e:
                found = (e,)
            for one in found:
                yield one

    async def _as_yaml(self, file: str, content: bytes) -> list[Any]:
        sandbox = await self.sandbox()
        try:
            body = await sandbox.evaluate("yaml", {"file": file}, content)
        except SandboxError as e:
            raise InputError(e.message if file in e.message else f"{file}: {e.message}") from e
        return [msgspec.json.decode(each) for each in body.splitlines()]


def _read(file: str) -> bytes:
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(LARGEST + 1)
    with Path(file).open("rb") as source:
        return source.read(LARGEST + 1)


def _as_json(content: bytes) -> list[Any] | None:
    """None where it is no single JSON value: perhaps it is YAML."""
    if content.lstrip()[:1] not in {b"{", b"["}:
        return None
    try:
        return [msgspec.json.decode(content)]
    except (msgspec.DecodeError, RecursionError):
        return None


def _documents(file: str, values: Sequence[Any]) -> list[Document]:
    objects = [item for value in values for item in _items(value)]
    if not objects:
        raise InputError(f"{file}: holds no object")
    for number, found in enumerate(objects, 1):
        if not isinstance(found, dict):
            raise InputError(
                f"{file}, document {number}: expected a Kubernetes object,"
                f" found {type(found).__name__}"
            )
        if not isinstance(found.get("kind"), str) or not isinstance(found.get("apiVersion"), str):
            raise InputError(f"{file}, document {number}: apiVersion or kind is missing")
    return [
        Document(file=file, number=number, manifest=found)
        for number, found in enumerate(objects, 1)
    ]


def _items(value: Any) -> list[Any]:
    """A List (as `kubectl get -o json` prints one) counts as its items."""
    if value is None:
        return []
    listed = isinstance(value, dict) and str(value.get("kind", "")).endswith("List")
    if listed and isinstance(value.get("items"), list):
        return list(value["items"])
    return [value]
