"""The content of a connection's Secret after a write over the link. Pure.

Kind, address and project identify a connection; a change of any of them is another Secret, which
begins without a credential. A new credential replaces the existing one as a whole, so that no field
of the old one is used with the new. Settings of how the address is reached (`proxy`, `insecure`)
belong to the owner of the cluster, who sets them in the Secret: a write over the link may repeat
them and may not change them. So does the name of a cluster, which Applications may have as their
destination.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agent.bridge.identity.sealed_box import FIELDS, is_login
from agent.bridge.tasks.task_context import TaskFailedError
from agent.git.credentials import SECRET_TYPE
from agent.git.repository_secrets import is_of_charts
from bus.link import OBJECT_KINDS, PutArguments
from bus.link.kinds import CLUSTER
from bus.repository_url import RepositoryUrl, RepositoryUrlError, login_of
from handlers.application.destination import DestinationError, canonical_server

TYPES = {kind.name: kind.secret_type for kind in OBJECT_KINDS if kind.secret_type}
"""The label's value of the Secrets that describe a connection, by kind."""
_SPEC = frozenset({"enableOCI", "enableLfs", "forceHttpBasicAuth", "depth"})
_OWNERS = frozenset(
    {"proxy", "noProxy", "insecure", "insecureIgnoreHostKey", "insecureOCIForceHttp"}
)
_UNSET = ("", "false", "0", "f")


class ConnectionIdentity(msgspec.Struct, frozen=True):
    """Identifies a connection; there is at most one Secret of it."""

    kind: str
    address: str
    """Canonical."""
    project: str = ""

    @property
    def text(self) -> str:
        """All of it in one text, of which the name of a new Secret is made.

        A cluster has one Secret for all projects, so that two puts at once make one.
        """
        of_project = self.project and self.kind != CLUSTER.name
        return f"{self.project} {self.address}" if of_project else self.address

    @classmethod
    def of(cls, args: PutArguments) -> ConnectionIdentity:
        """Raises TaskFailedError."""
        try:
            address = canonical_address(args.kind, args.url or str(args.spec.get("server", "")))
        except ValueError as error:
            raise TaskFailedError("invalid", f"url: {error}") from None
        return cls(args.kind, address, args.project)

    def matches(self, labels: Mapping[str, str], data: Mapping[str, str]) -> bool:
        """Whether a Secret with these decoded values is the one of this connection."""
        if labels.get(SECRET_TYPE) != TYPES[self.kind]:
            return False
        try:
            address = _address_in(self.kind, data)
        except ValueError:
            return False
        return (address, data.get("project", "")) == (self.address, self.project)


def _address_in(kind: str, data: Mapping[str, str]) -> str:
    """Read the address of a Secret; raises a ValueError."""
    text = data.get("url") or data.get("server") or ""
    is_registry = kind != CLUSTER.name and is_of_charts(data) and "://" not in text
    return canonical_address(kind, f"oci://{text}" if is_registry else text)


def canonical_address(kind: str, text: str) -> str:
    """Normalise an address; raises a ValueError, also for a repository URL with a login."""
    if kind == CLUSTER.name:
        return canonical_server(text)
    if login_of(text) is not None:
        raise RepositoryUrlError("expected a url without user information")
    return str(RepositoryUrl.parse(text))


def covers(kind: str, permitted: str, address: str) -> bool:
    """Whether a credential for `permitted` may be used at `address`; neither is canonical."""
    try:
        if kind == CLUSTER.name:
            return canonical_server(permitted) == canonical_server(address)
        return RepositoryUrl.parse(permitted).covers(RepositoryUrl.parse(address))
    except (RepositoryUrlError, DestinationError):
        return False


def written(
    live: Mapping[str, str],
    args: PutArguments,
    identity: ConnectionIdentity,
    credential: Mapping[str, str],
) -> dict[str, str]:
    """The new data of the Secret; `live` is its present data. Raises TaskFailedError."""
    _check_settings(live, args.spec)
    if live and identity.kind == CLUSTER.name:
        _check_name(live, args.name)
    kept = {name: value for name, value in live.items() if not (credential and name in FIELDS)}
    address_field = "server" if identity.kind == CLUSTER.name else "url"
    identifying = {
        address_field: live.get(address_field, identity.address),
        "project": identity.project,
    }
    shown = {"name": args.name.strip(), "type": args.type}
    settings = {name: _text(args.spec[name]) for name in _SPEC & args.spec.keys()}
    whole = {**kept, **_non_empty(shown), **_non_empty(settings), **credential, **identifying}
    return {name: value for name, value in whole.items() if value}


def check_login_replaceable(live: Mapping[str, str], *, over_link: bool) -> None:
    """Check that a write over the link may give the cluster of this data another login.

    What a person wrote stays: the agent would act there as somebody whom the service has chosen.
    """
    config = live.get("config", "").strip()
    if config in ("", "{}") or (over_link and is_login(config)):
        return
    text = (
        "the login of this cluster was not made over the link, so only the owner of the cluster"
        " changes it, in the Secret itself"
    )
    raise TaskFailedError("not_allowed", text)


def cluster_name(data: Mapping[str, str]) -> str:
    """The name that the cluster of a Secret with this data has for Applications."""
    server = data.get("server", "").strip()
    return data.get("name", "").strip() or canonical_or_empty(server) or server


def canonical_or_empty(server: str) -> str:
    """The canonical address of a cluster; empty where the text is none."""
    try:
        return canonical_server(server.strip())
    except DestinationError:
        return ""


def fields_of_owner(data: Mapping[str, str]) -> list[str]:
    """Fields of a cluster's Secret that its owner has set, or that could be the owner's."""
    written_over_link = FIELDS | _SPEC | {"server", "name", "type"}
    found = sorted(name for name, value in data.items() if value and name not in written_over_link)
    config = data.get("config", "")
    return found if not config or is_login(config) else [*found, "config"]


def _check_name(live: Mapping[str, str], name: str) -> None:
    current = cluster_name(live)
    if name.strip() not in ("", current):
        text = (
            f"name: the cluster is named {current!r}, and Applications find it by its name:"
            " only its owner changes it, in the Secret itself"
        )
        raise TaskFailedError("not_allowed", text)


def _check_settings(live: Mapping[str, str], spec: Mapping[str, Any]) -> None:
    for name in sorted(_OWNERS & spec.keys()):
        requested, current = _text(spec[name]).lower(), live.get(name, "").lower()
        if requested != current and not (requested in _UNSET and current in _UNSET):
            text = f"spec.{name}: only the owner of the cluster sets it, in the Secret itself"
            raise TaskFailedError("not_allowed", text)


def _non_empty(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
