"""The words of the sentences of facts, which the service and its clients use for others too. Pure.

A fact has its own sentence, `Event.sentence`. The service answers it with the fact, so that the
dashboard phrases nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping

_COMMIT = 40
_DIGEST = "sha256:"
_SLASHES_OF_A_KEY = 3


def short(revision: str) -> str:
    """A commit by its first seven digits; tags and chart versions as they are."""
    return revision[:7] if len(revision) == _COMMIT and revision.isalnum() else revision


def revision_in_words(revision: str) -> str:
    """`commit 4f1c2a9`, `version 1.2.0` of a chart, `digest sha256:…` of an artifact."""
    if revision.startswith(_DIGEST):
        return f"digest {revision}"
    return f"commit {short(revision)}" if short(revision) != revision else f"version {revision}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def object_in_words(key: str) -> str:
    """`Deployment web` of `apps/Deployment/shop/web`; what is no key stays as it is."""
    parts = key.split("/", _SLASHES_OF_A_KEY)
    return f"{parts[1]} {parts[3]}" if len(parts) > _SLASHES_OF_A_KEY else key


def trouble_in_words(key: str, reason: str, message: str) -> str:
    """`Pod web-x: ImagePullBackOff: not found`; what is not known is left out."""
    return ": ".join(part for part in (object_in_words(key), reason, message) if part)


def counts_in_words(counts: Mapping[str, int]) -> str:
    """`2 applied, 1 failed`; what is zero is left out."""
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number)


def because(what: str, reason: str) -> str:
    return f"{what}: {reason}" if reason else what
