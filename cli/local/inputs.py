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

from bus.redaction import without_user_info
from cli import output
from cli.local.sandbox import open_sandbox
from handlers.manifest import access
from handlers.manifest.kinds import GroupKind
from sandbox.client.errors import SandboxError
from sandbox.client.pool import Sandbox

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


class InputDocument(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    number: int
    """From 1, as the objects stand in the file; items of a List count each."""
    manifest: dict[str, Any]

    @property
    def location(self) -> str:
        return f"{self.file}, document {self.number}"

    def refused(self, why: str) -> InputError:
        return InputError(f"{self.location}: {why}", file=self.file, document=self.number)

    @property
    def about(self) -> str:
        """Name the object for people: `Deployment shop/web`."""
        space = access.namespace(self.manifest)
        name = access.name(self.manifest)
        return f"{access.kind(self.manifest)} {space + '/' if space else ''}{name}"


def read_bytes(file: str) -> bytes:
    """Read at most LARGEST bytes; raises InputError."""
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


class InputManifests:
    """Documents of input files; the sandbox starts with the first YAML. Use as `async with`."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._sandbox: Sandbox | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def sandbox(self) -> Sandbox:
        """Start the sandbox; raises InputError where its program is missing."""
        if self._sandbox is None:
            self._sandbox = await self._stack.enter_async_context(open_sandbox())
        return self._sandbox

    async def read(self, file: str) -> Sequence[InputDocument]:
        """Read all objects of `file`; raises InputError for the first that is no object."""
        good, bad = sorted_out(await self.examine(file))
        if bad:
            raise bad[0]
        return good

    async def examine(self, file: str) -> Sequence[InputDocument | InputError]:
        """Read every object of `file`, or the error of a document: a bad one stops no other."""
        try:
            content = read_bytes(file)
            values = _as_json(content)
            if values is None:
                values = await self._as_yaml(file, content)
        except InputError as e:
            return (e,)
        return _documents(file, values)

    async def each(self, files: Sequence[str]) -> AsyncIterator[InputDocument | InputError]:
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


def refuse(
    error: Exception, of: InputDocument | InputError | None = None, *, as_json: bool
) -> output.Exit:
    """Report why an input has no answer; with `--json` also as its line of output."""
    message = without_user_info(str(error))
    output.complain(message)
    if as_json:
        known = error if isinstance(error, InputError) else InputError("")
        document = of if isinstance(of, InputDocument) else None
        answer: dict[str, object] = {"file": known.file or (document.file if document else "")}
        if document is not None and GroupKind.of(document.manifest) == APPLICATION:
            answer["application"] = _app_key(document.manifest)
        answer["error"] = message
        number = known.document or (document.number if document else 0)
        places = {"document": number, "line": known.line}
        output.line(answer | {name: number for name, number in places.items() if number})
    return output.Exit.BAD_INPUT


def _app_key(manifest: Mapping[str, Any]) -> str:
    """Format the key of an Application that may be unreadable, as AppKey is written."""
    return f"{access.namespace(manifest) or DEFAULT_NAMESPACE}/{access.name(manifest)}"


def sorted_out(
    found: Sequence[InputDocument | InputError],
) -> tuple[list[InputDocument], list[InputError]]:
    """Divide the inputs into readable documents and errors."""
    good = [one for one in found if isinstance(one, InputDocument)]
    return good, [one for one in found if isinstance(one, InputError)]


def _read(file: str) -> bytes:
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(LARGEST + 1)
    with Path(file).open("rb") as source:
        return source.read(LARGEST + 1)


def _as_json(content: bytes) -> list[Any] | None:
    """Decode one JSON value; None where the content is none and may be YAML."""
    if content.lstrip()[:1] not in {b"{", b"["}:
        return None
    try:
        return [msgspec.json.decode(content)]
    except (msgspec.DecodeError, RecursionError):
        return None


def _documents(file: str, values: Sequence[Any]) -> Sequence[InputDocument | InputError]:
    objects = [item for value in values for item in _items(value)]
    if not objects:
        return (InputError(f"{file}: holds no object", file=file),)
    return [_document(file, number, found) for number, found in enumerate(objects, 1)]


def _document(file: str, number: int, found: Any) -> InputDocument | InputError:
    def refused(why: str) -> InputError:
        return InputError(f"{file}, document {number}: {why}", file=file, document=number)

    if not isinstance(found, dict):
        return refused(f"expected a Kubernetes object, found {type(found).__name__}")
    if set(found) == {_BROKEN}:
        broken = found[_BROKEN]
        where = {"file": file, "document": broken["document"], "line": broken["line"]}
        return InputError(broken["message"], **where)
    if not isinstance(found.get("kind"), str) or not isinstance(found.get("apiVersion"), str):
        return refused("apiVersion or kind is missing")
    return InputDocument(file=file, number=number, manifest=found)


def _items(value: Any) -> list[Any]:
    """List the items of a List, as `kubectl get -o json` prints one."""
    if value is None:
        return []
    listed = isinstance(value, dict) and str(value.get("kind", "")).endswith("List")
    if listed and isinstance(value.get("items"), list):
        return list(value["items"])
    return [value]
