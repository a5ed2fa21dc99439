"""KeyFinder finds the keys with which objects of a project are decrypted.

The AppProject names Secrets of the agent's namespace. A Secret counts only with the label that its
owner gives it for this purpose, and a project only while it is its owner's own: one that came or
was changed over the link, or by an application that did, gets no keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent.git.credentials import Secret
from handlers.application.application import Application, AppProject
from handlers.application.decryption_keys import (
    DECRYPTION_KEY,
    DECRYPTION_KEYS,
    SECRET_TYPE_LABEL,
    DecryptionKeys,
    key_secrets,
    key_secrets_problem,
    keys_in,
)
from handlers.ports.decryption import DecryptionError, DecryptionProblem

_LABEL = f"{SECRET_TYPE_LABEL}: {DECRYPTION_KEY}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectKeys:
    """The keys of a project, and the names of the Secrets of it that are not there."""

    project: str
    keys: DecryptionKeys
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFinder:
    project: Callable[[str], AppProject | None]
    secrets: Callable[[], Sequence[Secret]]
    is_governed: Callable[[AppProject], bool]
    """Whether a project came or was changed over the link."""

    def of(self, app: Application) -> ProjectKeys:
        """Find the keys of the Application's project; raises DecryptionError."""
        name = app.spec.project or "default"
        project = self.project(app.spec.project)
        if project is None:
            raise _no_keys(f"the AppProject {name!r} does not exist")
        if problem := key_secrets_problem(project):
            raise _no_keys(
                f"the annotation {DECRYPTION_KEYS} of the AppProject {name!r} cannot be "
                f"understood: {problem}"
            )
        wanted = key_secrets(project)
        if not wanted:
            raise _no_keys(
                f"the AppProject {name!r} names no keys: name Secrets of the agent's namespace in "
                f"its annotation {DECRYPTION_KEYS}"
            )
        if self.is_governed(project):
            raise _no_keys(
                f"the AppProject {name!r} came or was changed over the link, and gets no keys: its "
                "owner may remove the annotation plumbline.dev/governed-by after looking at it"
            )
        found = {one.name: one.data for one in self.secrets() if is_key_secret(one)}
        return self._read(name, wanted, found)

    def _read(
        self, project: str, wanted: tuple[str, ...], found: Mapping[str, Mapping[str, str]]
    ) -> ProjectKeys:
        absent = tuple(one for one in wanted if one not in found)
        keys = keys_in({one: found[one] for one in wanted if one in found})
        if keys:
            return ProjectKeys(project=project, keys=keys, absent=absent)
        if absent:
            raise _no_keys(
                f"{missing(absent)}, which the AppProject {project!r} names for its keys"
            )
        raise _no_keys(
            f"the Secrets {', '.join(wanted)} of the AppProject {project!r} have no keys: name "
            "their entries *.agekey for keys of age, *.asc for private keys of PGP"
        )


def is_key_secret(secret: Secret) -> bool:
    return secret.labels.get(SECRET_TYPE_LABEL) == DECRYPTION_KEY and not secret.governed


def missing(names: Sequence[str]) -> str:
    return f"there is no Secret {', '.join(names)} with the label {_LABEL}"


def _no_keys(message: str) -> DecryptionError:
    return DecryptionError(DecryptionProblem.NO_KEYS, message, place=0)
