"""References of a dry commit to the commits that led to it, by Argo CD's trailers. Pure.

A pipeline that writes an image's tag into the dry repository names the commit of the image:

    Argocd-reference-commit-sha: 5c8f...
    Argocd-reference-commit-repourl: https://git.example/team/app
    Argocd-reference-commit-author: Jane Doe <jane@example.com>
    Argocd-reference-commit-date: 2026-01-01T12:00:00Z
    Argocd-reference-commit-subject: Greet politely
    Argocd-reference-commit-body: "text as JSON"

They stand in the last paragraph of the message, as trailers of Git do. What is no value of its kind
is left out: anybody who may commit may write it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from bus.redaction import without_user_info
from bus.repository_url import RepositoryUrl, RepositoryUrlError

_TRAILER = re.compile(
    r"Argocd-reference-commit-(author|date|subject|body|sha|repourl):[ \t]*(.*)", re.IGNORECASE
)
_SHA = re.compile(r"[0-9a-f]{7,64}")
_LONGEST = 4096
_NAMES = {"repourl": "repoURL"}


def references(message: str) -> Sequence[Mapping[str, str]]:
    """Return the one reference that trailers can name; none where they name no commit."""
    paragraph = message.rstrip().rpartition("\n\n")[2]
    found: dict[str, str] = {}
    for line in paragraph.splitlines():
        trailer = _TRAILER.fullmatch(line.strip())
        if trailer and (value := _value(trailer[1].lower(), trailer[2].strip()[:_LONGEST])):
            name = trailer[1].lower()
            found[_NAMES.get(name, name)] = value
    return [found] if found else []


def _value(name: str, text: str) -> str:
    match name:
        case "sha":
            return text if _SHA.fullmatch(text) else ""
        case "repourl":
            with suppress(RepositoryUrlError):
                RepositoryUrl.parse(text)
                return without_user_info(text)
            return ""
        case "body":
            with suppress(msgspec.DecodeError):
                return msgspec.json.decode(text, type=str)
            return ""
        case _:
            return text
