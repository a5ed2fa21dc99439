"""Artifact signers: whose cosign signatures an AppProject demands of charts and artifacts. Pure.

Argo CD has no field for it, so it stands in an annotation of the project, as JSON:

    plumbline.dev/artifact-signers: |
      {"policies": [{"repos": [{"url": "oci://registry.example/**"}],
                     "keys": ["-----BEGIN PUBLIC KEY----- ..."]}]}

Each policy whose pattern matches demands a signature by one of its keys. `gpg` has ids of GnuPG
keys of `argocd-gpg-keys-cm` beside or in place of `keys`: they count for the provenance files of
charts of Helm repositories over HTTP. A policy that is not understood is a problem, never a weaker
one.
"""

from __future__ import annotations

import re
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
_GNUPG = "gpg:"
_KEY_ID = re.compile(r"[0-9A-Fa-f]{16}|[0-9A-Fa-f]{40}")

Signers = tuple[tuple[str, ...], ...]
"""Of each group, one has to have signed: public keys in PEM, and ids of GnuPG keys (`gpg:`).

An id stands with the fingerprint of all trusted keys, so that other keys are another demand.
"""
NOBODY: Signers = ((),)
"""A demand that no signature meets."""


class _Repository(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: str


class _Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    repos: tuple[_Repository, ...]
    keys: tuple[str, ...] = ()
    gpg: tuple[str, ...] = ()


class _Policies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    policies: tuple[_Policy, ...]


def signers_of(project: AppProject | None, address: SourceAddress, trust: str = "") -> Signers:
    """Say who has to have signed what is read there; empty where nobody has to.

    `trust` is the fingerprint of the GnuPG keys that are trusted.
    """
    if project is None or address.kind is SourceKind.GIT:
        return ()
    found = _policies(project)
    if isinstance(found, str) or any(_problems(found)):
        return NOBODY
    return tuple(
        (*one.keys, *(f"{_GNUPG}{key.upper()}@{trust}" for key in one.gpg))
        for one in found
        if _concerns(one, address)
    )


def gnupg_keys_of(group: tuple[str, ...]) -> tuple[str, ...]:
    """List the ids of the GnuPG keys of a group: 16 or 40 hexadecimal digits, upper case."""
    found = (one for one in group if one.startswith(_GNUPG))
    return tuple(one.removeprefix(_GNUPG).partition("@")[0] for one in found)


def public_keys_of(group: tuple[str, ...]) -> tuple[str, ...]:
    """List the public keys of a group, in PEM."""
    return tuple(one for one in group if not one.startswith(_GNUPG))


def names_gnupg_keys(project: AppProject) -> bool:
    """Whether the demand depends on the GnuPG keys that are trusted."""
    found = _policies(project)
    return not isinstance(found, str) and any(one.gpg for one in found)


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
        keys = len(one.keys) + len(one.gpg)
        if not one.repos or not 0 < keys <= _MOST:
            yield f"{place} has {len(one.repos)} repos and {keys} keys; it needs both"
        for key in one.gpg:
            if not _KEY_ID.fullmatch(key):
                yield (
                    f"{place} names the GnuPG key {key[:100]!r}; expected the 16 digits of its id "
                    "or the 40 of its fingerprint"
                )
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
