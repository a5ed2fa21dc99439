"""Probe of `gitops agent check` for projects that demand signed commits: GnuPG and its keys."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping

from agent.git.gnupg import PROGRAM
from cli.local.probes import Finding
from handlers.application.application import AppProject
from handlers.application.source_integrity import IntegrityMode, integrity_of
from handlers.trust.gnupg import gnupg_keys
from handlers.trust.signing_trust import KEYS

_PART = "signatures"


def findings(
    projects: Iterable[AppProject], keys: Mapping[str, str], program: str | None
) -> Iterator[Finding]:
    """Say for each project that demands signatures what would keep its commits from being proven.

    `program` is where GnuPG is; None where it is missing.
    """
    demanding = [one for one in projects if _demands(one)]
    if not demanding:
        return
    names = ", ".join(sorted(one.metadata.name for one in demanding))
    if program is None:
        found = f"no program {PROGRAM} here, and the AppProjects {names} demand signed commits"
        remedy = "Install GnuPG where the agent runs (Debian's package gpg): nothing is deployed."
        yield Finding(part=_PART, ok=False, found=found, remedy=remedy)
    else:
        found = f"demanded by the AppProjects {names}; checked with {program}"
        yield Finding(part=_PART, ok=True, found=found)
    known = {one.fingerprint for one in gnupg_keys(keys) if not one.problem}
    for project in sorted(demanding, key=lambda one: one.metadata.name):
        for problem in _problems(project, known):
            found = f"AppProject {project.metadata.name}: {problem}"
            yield Finding(part=_PART, ok=False, found=found, remedy=f"See ConfigMap {KEYS}.")


def installed_program() -> str | None:
    return shutil.which(PROGRAM)


def _demands(project: AppProject) -> bool:
    integrity = integrity_of(project)
    return bool(integrity.problems) or any(
        one.mode is not IntegrityMode.NONE for one in integrity.policies
    )


def _problems(project: AppProject, known: set[str]) -> Iterator[str]:
    integrity = integrity_of(project)
    yield from integrity.problems
    for policy in integrity.policies:
        if policy.mode is IntegrityMode.NONE or policy.signers or not policy.keys:
            continue
        # What a project names may be a subkey, which a list of keys does not show.
        if not policy.allows(*known):
            key = policy.keys[0]
            yield f"{policy.place} names no key that is in {KEYS}, as {key}; or it is a subkey"
