"""The batch API of Git LFS: where an object is, as the host says. Pure.

Of the transfers only `basic` is spoken, which every host has: one request for an object.
"""

from __future__ import annotations

import msgspec

MEDIA_TYPE = "application/vnd.git-lfs+json"
LARGEST_ANSWER = 64 * 1024
_ABSENT = 404
_MOST_HEADERS = 20
_LONGEST_HEADER = 8 * 1024
_FORBIDDEN = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "range", "proxy-authorization")
)


class LfsAction(msgspec.Struct, frozen=True):
    """Where to read an object, and the headers that its server wants to see."""

    href: str
    header: dict[str, str] = {}


class LfsRefusedError(Exception):
    """The host does not give the object; the message says why."""

    def __init__(self, message: str, *, absent: bool = False) -> None:
        super().__init__(message)
        self.absent = absent


class _Actions(msgspec.Struct, frozen=True):
    download: LfsAction | None = None


class _Problem(msgspec.Struct, frozen=True):
    code: int = 0
    message: str = ""


class _Object(msgspec.Struct, frozen=True):
    oid: str
    actions: _Actions = _Actions()
    error: _Problem | None = None


class _Answer(msgspec.Struct, frozen=True):
    objects: tuple[_Object, ...]
    transfer: str = "basic"


def batch_request(digest: str, size: int) -> bytes:
    return msgspec.json.encode(
        {
            "operation": "download",
            "transfers": ["basic"],
            "objects": [{"oid": digest, "size": size}],
            "hash_algo": "sha256",
        }
    )


def action_of(content: bytes, digest: str) -> LfsAction:
    """Read the answer for one object; raises LfsRefusedError."""
    try:
        answer = msgspec.json.decode(content, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LfsRefusedError("the answer is none of the batch API of LFS") from error
    found = next((one for one in answer.objects if one.oid == digest), None)
    if found is None:
        raise LfsRefusedError("the answer does not name the object")
    if problem := found.error:
        shown = "".join(one if one.isprintable() else " " for one in problem.message[:200])
        raise LfsRefusedError(f"{shown} ({problem.code})", absent=problem.code == _ABSENT)
    action = found.actions.download
    if answer.transfer != "basic" or action is None:
        raise LfsRefusedError("the answer names no address for the transfer `basic`")
    _check_headers(action)
    return action


def _check_headers(action: LfsAction) -> None:
    for name, value in action.header.items():
        is_token = name.replace("-", "").isalnum() and name.isascii()
        if not is_token or name.lower() in _FORBIDDEN or not value.isprintable():
            raise LfsRefusedError(f"the answer asks for the header {name[:40]!r}")
    if len(action.header) > _MOST_HEADERS or any(
        len(one) > _LONGEST_HEADER for one in action.header.values()
    ):
        raise LfsRefusedError("the answer asks for too many or too long headers")
