"""Where kinds and objects stand in the API: `/apis/apps/v1/namespaces/shop/deployments/web`."""

from __future__ import annotations

from urllib.parse import quote

from handlers.manifest.kinds import KindInfo


def collection(kind: KindInfo, namespace: str = "", *, version: str = "") -> str:
    """All objects of the kind, or of one namespace; `version` where not the preferred one."""
    spoken = version or kind.version
    root = f"/apis/{kind.group}/{spoken}" if kind.group else f"/api/{spoken}"
    inside = f"/namespaces/{quote(namespace, safe='')}" if namespace and kind.namespaced else ""
    return f"{root}{inside}/{kind.plural}"


def item(kind: KindInfo, namespace: str, name: str, *, version: str = "") -> str:
    return f"{collection(kind, namespace, version=version)}/{quote(name, safe='')}"
