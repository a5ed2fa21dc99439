"""Discovery reads the kinds and versions of an API server in one or two requests, and their paths.

The aggregated document lists all groups at once (Kubernetes 1.27 and later, kept current by the
server); an older server is asked group by group. Reading the documents is pure; `discover` sends
the requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec
import orjson

from agent.kube.client import KubeClient
from agent.kube.errors import NotFoundError
from handlers.manifest.access import items, mapping, split_api_version, text
from handlers.manifest.kinds import KindInfo
from handlers.ports import ApplyRefusedError, ClusterUnreachableError

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
ACCEPT = ",".join((_AGGREGATED.format("v2"), _AGGREGATED.format("v2beta1"), "application/json"))

MOST_KINDS = 10_000
"""Of a cluster that belongs to somebody else: each kind is a watch."""


class Discovered(msgspec.Struct, frozen=True, kw_only=True):
    """All kinds in all served versions, the preferred version of a group first."""

    kube_version: str = ""
    served: tuple[KindInfo, ...] = ()
    unanswered: frozenset[str] = frozenset()
    """Groups whose own API server did not answer, so that kinds of theirs may be left out."""

    def preferred(self) -> dict[tuple[str, str], KindInfo]:
        """Map (group, kind) to the kind in its preferred version."""
        best: dict[tuple[str, str], KindInfo] = {}
        for kind in self.served:
            best.setdefault((kind.group, kind.kind), kind)
        return best

    def api_versions(self) -> tuple[str, ...]:
        """List `apps/v1` and `apps/v1/Deployment` of all kinds: Helm's API versions."""
        named: dict[str, None] = {}
        for kind in self.served:
            version = f"{kind.group}/{kind.version}" if kind.group else kind.version
            named[version] = named[f"{version}/{kind.kind}"] = None
        return tuple(named)


async def discover(client: KubeClient) -> Discovered:
    """Read all kinds, without groups whose server is down. Raises ClusterUnreachableError."""
    version = _document(await client.get("/version"))
    served: list[KindInfo] = []
    unanswered: set[str] = set()
    for root in ("/api", "/apis"):
        document = _document(await client.get(root, accept=ACCEPT))
        if document.get("kind") == "APIGroupDiscoveryList":
            served.extend(aggregated_kinds(document))
            unanswered.update(stale_groups(document))
        else:
            served.extend(await _one_by_one(client, document, unanswered))
    if len(served) > MOST_KINDS:
        raise ClusterUnreachableError(
            f"discovery: the API server serves {len(served)} kinds in all versions; the agent "
            f"follows at most {MOST_KINDS}. Delete definitions that nobody uses"
        )
    return Discovered(
        kube_version=text(version, "gitVersion"),
        served=tuple(served),
        unanswered=frozenset(unanswered),
    )


def aggregated_kinds(document: Mapping[str, Any]) -> Iterator[KindInfo]:
    """Read the kinds of an APIGroupDiscoveryList, in the server's order of preference."""
    for group in items(document, "items"):
        for version in items(group, "versions"):
            for resource in items(version, "resources"):
                yield KindInfo(
                    group=text(group, "metadata", "name"),
                    version=text(version, "version"),
                    kind=text(resource, "responseKind", "kind"),
                    plural=text(resource, "resource"),
                    namespaced=text(resource, "scope") == "Namespaced",
                    verbs=_texts(resource, "verbs"),
                )


def stale_groups(document: Mapping[str, Any]) -> Iterator[str]:
    """Read the groups of which the server could not ask some version just now."""
    for group in items(document, "items"):
        if any(text(version, "freshness") == "Stale" for version in items(group, "versions")):
            yield text(group, "metadata", "name")


def group_versions(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Read the versions (`v1`, `apps/v1`) of an APIVersions or APIGroupList, preferred first."""
    if document.get("kind") == "APIVersions":
        return _texts(document, "versions")
    found: dict[str, None] = {}
    for group in items(document, "groups"):
        found[text(group, "preferredVersion", "groupVersion")] = None
        found.update((text(entry, "groupVersion"), None) for entry in items(group, "versions"))
    return tuple(word for word in found if word)


def listed_kinds(document: Mapping[str, Any]) -> Iterator[KindInfo]:
    """Read the kinds of an APIResourceList, without subresources (`pods/log`)."""
    group, version = split_api_version(text(document, "groupVersion"))
    for resource in items(document, "resources"):
        plural = text(resource, "name")
        if "/" not in plural:
            yield KindInfo(
                group=text(resource, "group") or group,
                version=text(resource, "version") or version,
                kind=text(resource, "kind"),
                plural=plural,
                namespaced=resource.get("namespaced") is True,
                verbs=_texts(resource, "verbs"),
            )


async def _one_by_one(
    client: KubeClient, document: Mapping[str, Any], unanswered: set[str]
) -> Iterable[KindInfo]:
    kinds: list[KindInfo] = []
    for group_version in group_versions(document):
        root = "/apis" if "/" in group_version else "/api"
        try:
            resources = _document(await client.get(f"{root}/{group_version}"))
        except NotFoundError:
            continue
        except ApplyRefusedError as error:
            if error.code < 500:
                raise
            unanswered.add(split_api_version(group_version)[0])
            continue
        kinds.extend(listed_kinds(resources))
    return kinds


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        return mapping(orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise ClusterUnreachableError("discovery: the answer is no JSON") from error


def _texts(document: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = document.get(name)
    return tuple(word for word in found if isinstance(word, str)) if type(found) is list else ()


def collection_path(kind: KindInfo, namespace: str = "", *, version: str = "") -> str:
    """Build the path of a kind's objects, in one namespace or all."""
    spoken = version or kind.version
    root = f"/apis/{kind.group}/{spoken}" if kind.group else f"/api/{spoken}"
    inside = f"/namespaces/{quote(namespace, safe='')}" if namespace and kind.namespaced else ""
    return f"{root}{inside}/{kind.plural}"


def object_path(kind: KindInfo, namespace: str, name: str, *, version: str = "") -> str:
    return f"{collection_path(kind, namespace, version=version)}/{quote(name, safe='')}"
