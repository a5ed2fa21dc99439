"""External URLs: where people reach what an application deploys, for `status.summary`. Pure.

They come from the Ingresses of the application and from annotations `link.argocd.argoproj.io/NAME`
of its objects, whose value is a URL or `Title|URL`, as in Argo CD. Dashboards make links of them,
and anybody who may write an object writes them: so anything but http and https is left out, and
number and length are bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bus.identity import ResourceKey
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.manifest.kinds import GroupKind

LINK = "link.argocd.argoproj.io/"
IGNORE_DEFAULT_LINKS = "argocd.argoproj.io/ignore-default-links"
_INGRESSES = frozenset(
    {GroupKind("networking.k8s.io", "Ingress"), GroupKind("extensions", "Ingress")}
)
_MOST = 100
_LONGEST = 2048
_SCHEMES = ("https://", "http://")


def external_urls(objects: Iterable[Manifest]) -> tuple[str, ...]:
    """The URLs of the objects, each once, sorted; the status of an Ingress names its addresses."""
    found = {url for one in objects for url in (*_links(one), *_of_ingress(one))}
    return tuple(sorted(url for url in found if len(url) <= _LONGEST))[:_MOST]


def may_have_urls(key: ResourceKey, body: bytes) -> bool:
    """Whether an encoded object may have any, so that others need not be decoded."""
    return key.kind == "Ingress" or LINK.encode() in body


def _links(manifest: Manifest) -> Iterator[str]:
    for name, value in access.annotations(manifest).items():
        address = value.rpartition("|")[2].lower() if isinstance(value, str) else ""
        if name.startswith(LINK) and address.startswith(_SCHEMES):
            yield value


def _of_ingress(ingress: Manifest) -> Iterator[str]:
    is_hidden = access.annotation(ingress, IGNORE_DEFAULT_LINKS) == "true"
    if is_hidden or GroupKind.of(ingress) not in _INGRESSES:
        return
    for rule in access.items(ingress, "spec", "rules"):
        host = access.text(rule, "host")
        scheme = "https" if _is_secured(ingress, host) else "http"
        paths = [access.text(one, "path") for one in access.items(rule, "http", "paths")]
        for place in [host] if host else _addresses(ingress):
            for path in paths or [""]:
                yield f"{scheme}://{place}{path.removesuffix('*')}"


def _is_secured(ingress: Manifest, host: str) -> bool:
    """Whether an entry of `spec.tls` is for the host; one without hosts is for all of them."""
    for entry in access.items(ingress, "spec", "tls"):
        hosts = access.get(entry, "hosts")
        if not isinstance(hosts, list) or not hosts or host in hosts:
            return True
    return False


def _addresses(ingress: Manifest) -> list[str]:
    entries = access.items(ingress, "status", "loadBalancer", "ingress")
    found = (access.text(one, "hostname") or access.text(one, "ip") for one in entries)
    return [one for one in found if one]
