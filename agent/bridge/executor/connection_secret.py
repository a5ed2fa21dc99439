"""What a connection's Secret holds after it was written over the link. Pure.

A connection is known by its kind, its address and its project; with another of them it is another
Secret, which begins without a credential. A credential that is brought replaces the one that is
there as a whole, so nothing old is left to be sent along with something new. How the address is
reached (`proxy`, `insecure`) only the owner of the cluster says, in the Secret itself: over the
link those settings may be repeated and not changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agent.bridge.doing import TaskFailedError
from agent.bridge.executor.arguments import Put
from agent.bridge.sealed import FIELDS
from agent.git.credentials import SECRET_TYPE
from bus.repository_url import RepositoryUrl, RepositoryUrlError, login_of
from handlers.application.destination import DestinationError, canonical_server

CLUSTER = "Cluster"
TYPES = {"Repository": "repository", "RepositoryCredentials": "repo-creds", CLUSTER: "cluster"}
_SPEC = frozenset({"enableOCI", "enableLfs", "forceHttpBasicAuth", "depth"})
_OWNERS = frozenset(
    {"proxy", "noProxy", "insecure", "insecureIgnoreHostKey", "insecureOCIForceHttp"}
)
_UNSET = ("", "false", "0", "f")


class Identity(msgspec.Struct, frozen=True):
    """Which connection: there is at most one Secret of it."""

    kind: str
    address: str
    """Canonical."""
    project: str = ""

    @property
    def text(self) -> str:
        """All of it in one text, of which the name of a new Secret is made."""
        return f"{self.project} {self.address}" if self.project else self.address

    @classmethod
    def of(cls, said: Put) -> Identity:
        """Raises TaskFailedError."""
        try:
            address = canonical_address(said.kind, said.url or str(said.spec.get("server", "")))
        except ValueError as error:
            raise TaskFailedError("invalid", f"url: {error}") from None
        return cls(said.kind, address, said.project)

    def is_of(self, labels: Mapping[str, str], data: Mapping[str, str]) -> bool:
        """Whether a Secret with these decoded values is the one of this connection."""
        if labels.get(SECRET_TYPE) != TYPES[self.kind]:
            return False
        try:
            address = canonical_address(self.kind, data.get("url") or data.get("server") or "")
        except ValueError:
            return False
        return (address, data.get("project", "")) == (self.address, self.project)


def canonical_address(kind: str, text: str) -> str:
    """Raises RepositoryUrlError or DestinationError, which are ValueErrors; no login is taken."""
    if kind == CLUSTER:
        return canonical_server(text)
    if login_of(text) is not None:
        raise RepositoryUrlError("expected a url without user information")
    return str(RepositoryUrl.parse(text))


def covers(kind: str, place: str, address: str) -> bool:
    """Whether what is for `place` may be used at `address`; both as somebody wrote them."""
    try:
        if kind == CLUSTER:
            return canonical_server(place) == canonical_server(address)
        return RepositoryUrl.parse(place).covers(RepositoryUrl.parse(address))
    except (RepositoryUrlError, DestinationError):
        return False


def written(
    live: Mapping[str, str], said: Put, identity: Identity, credential: Mapping[str, str]
) -> dict[str, str]:
    """The Secret's data: `live` is what it holds, empty where it is new; TaskFailedError."""
    _check_settings(live, said.spec)
    kept = {name: value for name, value in live.items() if not (credential and name in FIELDS)}
    where = "server" if identity.kind == CLUSTER else "url"
    fixed = {where: live.get(where, identity.address), "project": identity.project}
    shown = {"name": said.name, "type": said.type}
    settings = {name: _text(said.spec[name]) for name in _SPEC & said.spec.keys()}
    whole = {**kept, **_said(shown), **_said(settings), **credential, **fixed}
    return {name: value for name, value in whole.items() if value}


def _check_settings(live: Mapping[str, str], spec: Mapping[str, Any]) -> None:
    for name in sorted(_OWNERS & spec.keys()):
        wanted, there = _text(spec[name]).lower(), live.get(name, "").lower()
        if wanted != there and not (wanted in _UNSET and there in _UNSET):
            text = f"spec.{name}: only the owner of the cluster sets it, in the Secret itself"
            raise TaskFailedError("not_allowed", text)


def _said(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
