"""Files with Kubernetes objects as arguments of a command: several files, several documents each.

JSON is read here; YAML by the sandbox, as Kubernetes reads it. Every refusal names the file, and
the document where there is one. `-` is standard input.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

import msgspec

from agent.sandbox.pool import Sandbox
from agent.sandbox.reasons import SandboxError
from bus.redaction import without_user_info
from cli import say
from cli.sandbox import open_sandbox
from handlers.manifest import access
from handlers.manifest.kinds import GroupKind

APPLICATION = GroupKind("argoproj.io", "Application")
DEFAULT_NAMESPACE = "argocd"
LARGEST = 32 * 1024 * 1024
STANDARD_INPUT = "-"
_BROKEN = "failure"
"""What the sandbox answers in the place of a document that it cannot read; no object is that."""


class InputError(Exception):
    """An input cannot be used: the message names it and says what was expected.

    `file`, `document` (from 1) and `line` as far as they are known.
    """

    def __init__(self, message: str, *, file: str = "", document: int = 0, line: int = 0) -> None:
        super().__init__(message)
        self.file = file
        self.document = document
        self.line = line


class Document(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    number: int
    """From 1, as the objects stand in the file; items of a List count each."""
    manifest: dict[str, Any]

    @property
    def place(self) -> str:
        return f"{self.file}, document {self.number}"

    def refused(self, why: str) -> InputError:
        return InputError(f"{self.place}: {why}", file=self.file, document=self.number)

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
        raise InputError(f"{file}: is a directory; name the files in it", file=file) from None
    except OSError as e:
        raise InputError(f"{file}: cannot be read: {e.strerror}", file=file) from e
    if len(content) > LARGEST:
        raise InputError(f"{file}: is larger than the limit of {LARGEST >> 20} MiB", file=file)
    if not content.strip():
        raise InputError(f"{file}: is empty", file=file)
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
        """All objects of `file`; raises InputError for the first that is none."""
        good, bad = sorted_out(await self.examine(file))
        if bad:
            raise bad[0]
        return good

    async def examine(self, file: str) -> Sequence[Document | InputError]:
        """Every object of `file`, or why it is none: a bad one does not spoil the others."""
        try:
            content = read_bytes(file)
            values = _as_json(content)
            if values is None:
                values = await self._as_yaml(file, content)
        except InputError as e:
            return (e,)
        return _documents(file, values)

    async def each(self, files: Sequence[str]) -> AsyncIterator[Document | InputError]:
        for file in files:
            for one in await self.examine(file):
                yield one

    async def _as_yaml(self, file: str, content: bytes) -> list[Any]:
        sandbox = await self.sandbox()
        try:
            body = await sandbox.evaluate("yaml", {"file": file, "each": True}, content)
        except SandboxError as e:
            message = e.message if file in e.message else f"{file}: {e.message}"
            raise InputError(message, file=file, document=e.document, line=e.line) from e
        return [msgspec.json.decode(each) for each in body.splitlines()]


def refuse(error: Exception, of: Document | InputError | None = None, *, as_json: bool) -> say.Exit:
    """Say why an input has no answer; with `--json` also in the place of its answer."""
    message = without_user_info(str(error))
    say.complain(message)
    if as_json:
        known = error if isinstance(error, InputError) else InputError("")
        place = of if isinstance(of, Document) else None
        answer: dict[str, object] = {"file": known.file or (place.file if place else "")}
        if place is not None and GroupKind.of(place.manifest) == APPLICATION:
            answer["application"] = _app_key(place.manifest)
        answer["error"] = message
        number = known.document or (place.number if place else 0)
        places = {"document": number, "line": known.line}
        say.line(answer | {name: number for name, number in places.items() if number})
    return say.Exit.BAD_INPUT


def _app_key(manifest: Mapping[str, Any]) -> str:
    """As AppKey is written, of an Application that perhaps cannot be read."""
    return f"{access.namespace(manifest) or DEFAULT_NAMESPACE}/{access.name(manifest)}"


def sorted_out(
    found: Sequence[Document | InputError],
) -> tuple[list[Document], list[InputError]]:
    """What can be used, and what cannot."""
    good = [one for one in found if isinstance(one, Document)]
    return good, [one for one in found if isinstance(one, InputError)]


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


def _documents(file: str, values: Sequence[Any]) -> Sequence[Document | InputError]:
    objects = [item for value in values for item in _items(value)]
    if not objects:
        return (InputError(f"{file}: holds no object", file=file),)
    return [_document(file, number, found) for number, found in enumerate(objects, 1)]


def _document(file: str, number: int, found: Any) -> Document | InputError:
    def refused(why: str) -> InputError:
        return InputError(f"{file}, document {number}: {why}", file=file, document=number)

    if not isinstance(found, dict):
        return refused(f"expected a Kubernetes object, found {type(found).__name__}")
    if set(found) == {_BROKEN}:
        told = found[_BROKEN]
        where = {"file": file, "document": told["document"], "line": told["line"]}
        return InputError(told["message"], **where)
    if not isinstance(found.get("kind"), str) or not isinstance(found.get("apiVersion"), str):
        return refused("apiVersion or kind is missing")
    return Document(file=file, number=number, manifest=found)


def _items(value: Any) -> list[Any]:
    """A List (as `kubectl get -o json` prints one) counts as its items."""
    if value is None:
        return []
    listed = isinstance(value, dict) and str(value.get("kind", "")).endswith("List")
    if listed and isinstance(value.get("items"), list):
        return list(value["items"])
    return [value]
