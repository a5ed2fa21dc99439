"""A push to a registry, as a Push: the tag is a ref, so sources of the repository look again. Pure.

    registry.example/charts/web:1.2.0   ->   oci://registry.example/charts/web, refs/tags/1.2.0

The Applications are those whose source is at this host and path, be it an artifact (`oci://…`) or a
chart of the registry. What a delivery says of a tag decides nothing: each source asks the registry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from agent.ingress.webhooks.push import MalformedPayloadError, Push, RefUpdate, revision, spellings
from bus.identity import NO_REVISION, Revision

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_MOST = 1000
"""Tags in one delivery."""


class PushedTag(msgspec.Struct, frozen=True, kw_only=True):
    """One tag of one repository; `repository` has the host, `registry.example/charts/web`."""

    repository: str
    tag: str
    digest: str = ""


def registry_push(
    pushed: Iterable[PushedTag], *, provider: str, event: str, delivery: str = ""
) -> Push | None:
    """Make the push; None where nothing that was pushed has a tag. MalformedPayloadError."""
    tags = [one for one in pushed if one.tag]
    if not tags:
        return None
    if len(tags) > _MOST:
        raise MalformedPayloadError(f"a push of more than {_MOST} tags")
    if not all(_TAG.fullmatch(one.tag) for one in tags):
        raise MalformedPayloadError(f"a tag is none that registries have: expected {_TAG.pattern}")
    urls = spellings(*dict.fromkeys(f"oci://{one.repository}" for one in tags))
    if not urls:
        raise MalformedPayloadError("expected the host and the path of a repository")
    return Push.of_updates(
        (RefUpdate(ref=f"refs/tags/{one.tag}", after=_revision(one.digest)) for one in tags),
        provider=provider,
        event=event,
        repositories=urls,
        delivery=delivery,
    )


def of_reference(reference: str, tag: str = "", digest: str = "") -> PushedTag:
    """Read `host/path[:tag][@digest]`; `tag` and `digest` go before those of the text."""
    named, _, found = reference.partition("@")
    head, slash, last = named.rpartition("/")
    name, _, own = last.partition(":")
    return PushedTag(repository=f"{head}{slash}{name}", tag=tag or own, digest=digest or found)


def _revision(digest: str) -> Revision:
    found = _DIGEST.fullmatch(digest)
    return revision(found[1]) if found else NO_REVISION
