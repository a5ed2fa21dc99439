"""Artifact signers: whose cosign signatures an AppProject demands of charts and artifacts. Pure.

Argo CD has no field for it, so it stands in an annotation of the project, as JSON:

    plumbline.dev/artifact-signers: |
      {"policies": [{"repos": [{"url": "oci://registry.example/**"}],
                     "keys": ["-----BEGIN PUBLIC KEY----- ..."]}]}

Each policy whose pattern matches demands a signature by one of its keys. One that is not understood
is a problem, never a weaker policy.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from handlers.application.address_pattern import any_matches, is_wellformed
from handlers.application.application import AppProject
from handlers.application.project import address_forms
from handlers.application.source_address import SourceAddress, SourceKind

ARTIFACT_SIGNERS = "plumbline.dev/artifact-signers"
_LARGEST = 64 * 1024
_MOST = 50
_BEGIN, _END = "-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----"
_ANY = "*"

Signers = tuple[tuple[str, ...], ...]
"""Public keys in PEM: of each group, one has to have signed."""
NOBODY: Signers = ((),)
"""A demand that no signature meets."""


class _Repository(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: str


class _Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    repos: tuple[_Repository, ...]
    keys: tuple[str, ...]


class _Policies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    policies: tuple[_Policy, ...]


def signers_of(project: AppProject | None, address: SourceAddress) -> Signers:
    """Say who has to have signed what is read there; empty where nobody has to."""
    if project is None or address.kind is SourceKind.GIT:
        return ()
    found = _policies(project)
    if isinstance(found, str) or any(_problems(found)):
        return NOBODY
    return tuple(one.keys for one in found if _concerns(one, address))


def signers_problem(project: AppProject) -> str:
    """Say why the project's demand cannot be understood; empty where it can."""
    found = _policies(project)
    if isinstance(found, str):
        return found
    return next(_problems(found), "")


def _policies(project: AppProject) -> tuple[_Policy, ...] | str:
    text = project.metadata.annotations.get(ARTIFACT_SIGNERS, "")
    if not text:
        return ()
    if len(text) > _LARGEST:
        return f"it has {len(text)} characters; at most {_LARGEST} are read"
    try:
        found = msgspec.json.decode(text, type=_Policies).policies
    except (msgspec.DecodeError, RecursionError) as error:
        return str(error)
    if not 0 < len(found) <= _MOST:
        return f"it has {len(found)} policies; expected 1 to {_MOST}"
    return found


def _problems(policies: tuple[_Policy, ...]) -> Iterator[str]:
    for number, one in enumerate(policies):
        place = f"policies[{number}]"
        if not one.repos or not one.keys or len(one.keys) > _MOST:
            yield f"{place} has {len(one.repos)} repos and {len(one.keys)} keys; it needs both"
        for repository in one.repos:
            if not _is_pattern(repository.url):
                url = repr(repository.url[:200])
                yield f"{place} has the url {url}; expected a pattern, as oci://host/**"
        for key in one.keys:
            if not (key.strip().startswith(_BEGIN) and key.strip().endswith(_END)):
                yield f"{place} has a key that does not begin with {_BEGIN!r}: write it as PEM"


def _is_pattern(url: str) -> bool:
    return bool(url) and not url.startswith("!") and is_wellformed(url)


def _concerns(policy: _Policy, address: SourceAddress) -> bool:
    return any(
        one.url == _ANY or any_matches(form, place.identities, "/")
        for one in policy.repos
        for place in address.places
        for form in address_forms(one.url, place)
    )
