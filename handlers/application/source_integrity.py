"""Source integrity: whose signatures an AppProject demands of the commits of Git sources. Pure.

`spec.sourceIntegrity.git.policies` says it for patterns of repositories. `spec.signatureKeys`, the
older field, is one policy of the mode `head` for all repositories; it counts only where there is no
`git` part. Sources of other kinds have no commits and are never asked, as in Argo CD.

SSH keys have no field in Argo CD's projects: the annotation `plumbline.dev/allowed-signers` names
the principals whose SSH signatures count beside the keys of every policy. Without a policy it is
one of the mode `head` for all repositories.

A policy that is not understood is a problem, never a weaker policy: the protection that somebody
wrote down must not be lost by a spelling mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace

from bus.repository_url import RepositoryUrlError
from handlers.application.address_pattern import any_denied, any_matches, is_wellformed
from handlers.application.application import AppProject
from handlers.application.source_address import SourceAddress, SourceKind
from handlers.application.spec import Source
from handlers.trust.signature import SignatureCheck, SignatureState

_GIT = "spec.sourceIntegrity.git"
_KEYS = "spec.signatureKeys"
_KEY = re.compile(r"[0-9A-F]{16}|[0-9A-F]{40}")
_NAMED = 5
ALLOWED_SIGNERS = "plumbline.dev/allowed-signers"
"""Annotation of an AppProject: principals of `gitops-allowed-signers`, with commas."""


class IntegrityMode(StrEnum):
    NONE = "none"
    HEAD = "head"
    STRICT = "strict"


class IntegrityPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A demand of a project on the commits of some repositories."""

    place: str
    """Where it is written, as `spec.sourceIntegrity.git.policies[0]`."""
    mode: IntegrityMode
    repositories: tuple[str, ...] = ("*",)
    keys: tuple[str, ...] = ()
    """Ids (16 hexadecimal digits) and fingerprints (40) of GnuPG keys, upper case."""
    signers: tuple[str, ...] = ()
    """Principals whose SSH keys count too."""

    @property
    def expected(self) -> str:
        """Whose signature proves a commit, in words."""
        found = (*(f"the key {one}" for one in self.keys), *self.signers)
        more = f" or {len(found) - _NAMED} others" if len(found) > _NAMED else ""
        if not found:
            return "a signature, and names nobody who may make it"
        return f"a signature by {' or '.join(found[:_NAMED])}{more}"

    def concerns(self, source: Source) -> bool:
        """Whether the policy is for the source's repository.

        Of two readings of a pattern the one that protects is taken: a positive pattern holds in any
        letter case, one with `!` exactly.
        """
        names = _identities(source)
        rules = self.repositories
        if not any(any_denied(one, names) for one in rules if not one.startswith("!")):
            return False
        excluded = (one.removeprefix("!") for one in rules if one.startswith("!"))
        return not any(any_matches(one, names) for one in excluded)

    def proves(self, check: SignatureCheck) -> bool:
        """Whether a signature is good, and made by one who may sign for the project."""
        if check.state is not SignatureState.GOOD:
            return False
        known = any(line.is_of(one) for line in check.principals for one in self.signers)
        return known if check.principals else self.allows(check.key, check.primary)

    def allows(self, *fingerprints: str) -> bool:
        """Whether one of the keys of a signature, subkey or primary key, is among the policy's."""
        return any(one and one.endswith(key) for one in fingerprints for key in self.keys)


class SourceIntegrity(msgspec.Struct, frozen=True):
    """The policies of a project, and why some cannot be understood."""

    policies: tuple[IntegrityPolicy, ...] = ()
    problems: tuple[str, ...] = ()

    def of(self, source: Source) -> tuple[IntegrityPolicy, ...]:
        """List the policies for a source; more than one is a conflict."""
        return tuple(one for one in self.policies if one.concerns(source))


class _Repository(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: str


class _Gpg(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mode: IntegrityMode
    keys: tuple[str, ...] = ()


class _Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    repos: tuple[_Repository, ...]
    gpg: _Gpg


class _Git(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    policies: tuple[_Policy, ...] = ()


class _Integrity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    git: _Git | None = None


def integrity_of(project: AppProject) -> SourceIntegrity:
    """Read the policies of a project."""
    spec = project.spec
    if not has_integrity(project):
        return SourceIntegrity()
    try:
        found = msgspec.convert(spec.source_integrity or {}, _Integrity)
    except msgspec.ValidationError as error:
        return SourceIntegrity(problems=(f"spec.sourceIntegrity: {error}",))
    policies = _of_git(found.git) if found.git is not None else _of_keys(spec.signature_keys)
    signers = _signers(project)
    read = tuple(replace(one, signers=signers) for one in policies)
    if signers and spec.source_integrity is None and not read:
        place = f"the annotation {ALLOWED_SIGNERS}"
        read = (IntegrityPolicy(place=place, mode=IntegrityMode.HEAD, signers=signers),)
    return SourceIntegrity(read, tuple(problem for one in read for problem in _problems(one)))


def has_integrity(project: AppProject) -> bool:
    """Whether the project says anything about signatures."""
    spec = project.spec
    return bool(spec.signature_keys or spec.source_integrity is not None) or (
        ALLOWED_SIGNERS in project.metadata.annotations
    )


def integrity_problems(project: AppProject, sources: tuple[Source, ...]) -> Iterator[str]:
    """Say why commits cannot be judged: policies that are not understood, or several for one."""
    integrity, name = integrity_of(project), project.metadata.name
    for one in integrity.problems:
        yield f"the AppProject {name!r} demands verified sources, but {one}"
    for source in sources:
        places = [one.place for one in integrity.of(source)]
        if len(places) > 1:
            yield (
                f"the AppProject {name!r} has several policies for {source.repo_url}: "
                f"{' and '.join(places)}; exactly one may match: exclude the repository from the "
                "others with a url that begins with `!`"
            )


def policy_of(project: AppProject | None, source: Source) -> IntegrityPolicy | None:
    """Find what the project demands of a source; None where it demands nothing."""
    if project is None:
        return None
    demanding = (
        one for one in integrity_of(project).of(source) if one.mode is not IntegrityMode.NONE
    )
    return next(demanding, None)


def _signers(project: AppProject) -> tuple[str, ...]:
    written = project.metadata.annotations.get(ALLOWED_SIGNERS, "")
    return tuple(one for part in written.split(",") if (one := part.strip()))


def _of_git(git: _Git) -> Iterator[IntegrityPolicy]:
    for number, one in enumerate(git.policies):
        yield IntegrityPolicy(
            place=f"{_GIT}.policies[{number}]",
            mode=one.gpg.mode,
            repositories=tuple(it.url.strip() for it in one.repos),
            keys=tuple(key.strip().upper() for key in one.gpg.keys),
        )


def _of_keys(written: tuple[Mapping[str, Any], ...]) -> Iterator[IntegrityPolicy]:
    """Yield the one policy of the older field; an entry without a key demands what nobody has."""
    if not written:
        return
    keys = tuple(str(one.get("keyID", "")).strip().upper() for one in written)
    yield IntegrityPolicy(place=_KEYS, mode=IntegrityMode.HEAD, keys=keys)


def _problems(policy: IntegrityPolicy) -> Iterator[str]:
    place = policy.place
    for key in policy.keys:
        if not _KEY.fullmatch(key):
            yield (
                f"{place} names the key {key!r}; expected the 16 digits of its id or the 40 of "
                "its fingerprint (gpg --list-keys --keyid-format long)"
            )
    if all(one.startswith("!") for one in policy.repositories):
        yield f"{place}.repos names no repository; expected a url without `!`, as `*`"
    for one in policy.repositories:
        if not one.removeprefix("!") or not is_wellformed(one.removeprefix("!")):
            yield f"{place}.repos has the url {one!r}, which is no pattern; correct it"


def _identities(source: Source) -> tuple[str, ...]:
    """The texts by which patterns know the repository; none for a source without commits."""
    try:
        address = SourceAddress.of(source)
    except RepositoryUrlError:
        return ()
    return address.url.identities if address.kind is SourceKind.GIT else ()
