"""A kustomize overlay that turns deploy/base into the chosen objects. Pure.

Patches are RFC 6902 and are made by comparing, so base and patches give the chosen objects however
the chart grows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from service.api.agents.install import chart_copy
from service.api.agents.install.chart_copy import Object
from service.api.agents.install.objects import own
from service.api.agents.install.options import InstallOptions

Op = dict[str, Any]
_TURNED = {
    ("Role", "gitops-destination"): ("ClusterRole", "gitops-destinations"),
    ("RoleBinding", "gitops-destination"): ("ClusterRoleBinding", "gitops-destinations"),
}
"""What stands in the namespace of the workloads instead of in the whole cluster."""


def overlay(options: InstallOptions) -> dict[str, Any]:
    base = {_name(it): it for it in chart_copy.base()}
    objects = {_name(it): it for it in own(options)}
    chosen = {_TURNED.get(name, name): it for name, it in objects.items()}
    found: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": options.namespace,
        "resources": ["../../base"],
        "patches": [
            *(_gone(it) for name, it in base.items() if name not in chosen),
            *_patches(base, chosen),
        ],
        # After `namespace`, which moves whatever there is.
        "transformers": [_placed(it, options) for name, it in objects.items() if name in _TURNED],
    }
    added = [it for name, it in chosen.items() if name not in base]
    if added:
        found["configMapGenerator"] = [_generated(it) for it in added]
    return found


def difference(before: Any, after: Any, path: str = "") -> Iterator[Op]:
    """Operations that make `after` of `before`."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [it for it in before if it not in after]:
            yield {"op": "remove", "path": f"{path}/{_token(key)}"}
        for key, value in after.items():
            place = f"{path}/{_token(key)}"
            if key in before:
                yield from difference(before[key], value, place)
            else:
                yield {"op": "add", "path": place, "value": value}
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from difference(*pair, f"{path}/{number}")
    elif before != after:
        yield {"op": "replace", "path": path, "value": after}


def _patches(base: Mapping[Any, Object], chosen: Mapping[Any, Object]) -> Iterator[dict[str, Any]]:
    for (kind, name), after in chosen.items():
        ops = list(difference(base[kind, name], after)) if (kind, name) in base else []
        if ops:
            patch: dict[str, Any] = {"target": {"kind": kind, "name": name}, "patch": ops}
            if after["kind"] != kind:
                patch["options"] = {"allowKindChange": True, "allowNameChange": True}
            yield patch


def _placed(it: Object, options: InstallOptions) -> Op:
    """A transformer that puts an object into the namespace of the workloads, not its subjects."""
    places = {"/metadata/namespace": options.destination}
    for number, _ in enumerate(it.get("subjects", ())):
        places[f"/subjects/{number}/namespace"] = options.namespace
    ops = [{"op": "replace", "path": path, "value": name} for path, name in places.items()]
    kind, name = _name(it)
    return {
        "apiVersion": "builtin",
        "kind": "PatchTransformer",
        "metadata": {"name": f"{name}-{kind.lower()}"},
        "target": {"kind": kind, "name": name},
        "patch": json.dumps(ops),
    }


def _gone(it: Object) -> dict[str, Any]:
    metadata = {"name": it["metadata"]["name"]}
    named = {"apiVersion": it["apiVersion"], "kind": it["kind"], "metadata": metadata}
    return {"patch": {"$patch": "delete", **named}}


def _generated(it: Object) -> dict[str, Any]:
    labels = it["metadata"]["labels"]
    return {
        "name": it["metadata"]["name"],
        "literals": [f"{name}={value}" for name, value in it["data"].items()],
        "options": {"disableNameSuffixHash": True, "labels": labels},
    }


def _name(it: Object) -> tuple[str, str]:
    return it["kind"], it["metadata"]["name"]


def _token(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
