"""The files, the message and the note of a hydrated commit, in the form of Argo CD's. Pure.

    <folder>/manifest.yaml        the objects, as rendered
    <folder>/hydrator.metadata    repository and commit that they are made of
    <folder>/README.md            for whoever finds the folder
    hydrator.metadata             the dry commit with author, date, message and references

The dry commit is somebody else's text: it goes into JSON and into the message, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from bus.identity import Revision
from bus.redaction import without_user_info
from handlers.hydrate.commit_references import references
from handlers.ports.branches import CommitDetails

_SHORT = 7
_LONGEST_MESSAGE = 16 * 1024
_LONGEST_NAME = 200
_ODD = re.compile(r"[\x00-\x1f\x7f<>]")


class DryCommit(msgspec.Struct, frozen=True, kw_only=True):
    repository: str
    """Its URL, without a login."""
    id: Revision
    details: CommitDetails

    @property
    def subject(self) -> str:
        return self._message.partition("\n")[0].strip()

    @property
    def body(self) -> str:
        return self._message.partition("\n")[2].strip()

    @property
    def author(self) -> str:
        name, email = (
            _ODD.sub("", one)[:_LONGEST_NAME].strip()
            for one in (self.details.author_name, self.details.author_email)
        )
        return f"{name} <{email}>" if name or email else ""

    @property
    def _message(self) -> str:
        return self.details.message[:_LONGEST_MESSAGE].replace("\x00", "").strip()


def root_metadata(commit: DryCommit) -> bytes:
    return _json(
        {
            "repoURL": without_user_info(commit.repository),
            "drySha": commit.id,
            "author": commit.author,
            "date": commit.details.time,
            "subject": commit.subject,
            "body": commit.body,
            "references": [{"commit": one} for one in references(commit.details.message)],
        }
    )


def folder_metadata(commit: DryCommit) -> bytes:
    return _json({"drySha": commit.id, "repoURL": without_user_info(commit.repository)})


def note(commit: DryCommit) -> bytes:
    return msgspec.json.encode({"drySha": commit.id})


def commit_message(commit: DryCommit) -> str:
    """Name the dry commit, with its message, and its author as a co-author."""
    trailer = f"Co-authored-by: {commit.author}" if commit.author else ""
    parts = (f"{commit.id[:_SHORT]}: {commit.subject}", commit.body, trailer)
    return "\n\n".join(filter(None, parts)) + "\n"


def readme(commit: DryCommit, folder: str) -> bytes:
    """Say where the manifests come from; nothing in it is text of the dry commit."""
    return "\n".join(_readme(commit, folder)).encode()


def _readme(commit: DryCommit, folder: str) -> Iterator[str]:
    url = without_user_info(commit.repository)
    yield "# Hydrated manifests"
    yield ""
    yield f"The manifests of the folder `{folder.replace('`', '')}` are rendered; do not edit them:"
    yield "the next commit of their source writes them anew. Their source is"
    yield ""
    yield f"    git clone {url}"
    yield f"    git checkout {commit.id}"
    yield ""


def _json(fields: Mapping[str, object]) -> bytes:
    written = {name: value for name, value in fields.items() if value}
    return msgspec.json.format(msgspec.json.encode(written), indent=2) + b"\n"
