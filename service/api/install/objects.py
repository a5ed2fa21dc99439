"""The Kubernetes objects of an agent: the chart's, with what was chosen. Pure.

The rights are the least for what was chosen. No object holds a credential: the enrolment token is
read from a Secret that is made by hand, and the agent makes its keys in the cluster.
"""

from __future__ import annotations

from typing import Any

from service.api.install import made
from service.api.install.choices import change
from service.api.install.made import DEFINITION, HOME, Object
from service.api.install.options import Options, Scope


def objects(options: Options) -> list[Object]:
    """Whatever `kubectl apply` needs, the namespaces and the definitions first."""
    destination = [_space(options.destination)] if options.scope is Scope.NAMESPACE else []
    return [*destination, *own(options, options.namespace)]


def own(options: Options, namespace: str = HOME) -> list[Object]:
    """The objects without the Namespace of the workloads, for an agent in `namespace`."""
    chosen = [it for it in made.fullest() if _wanted(it, options)]
    for it in chosen:
        _move(it, namespace)
        change(it, options)
    return [_space(namespace), *sorted(chosen, key=lambda it: it["kind"] != DEFINITION)]


def _space(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _wanted(it: Object, options: Options) -> bool:
    match it["kind"]:
        case made.DEFINITION:
            return options.definitions
        case "ConfigMap" if it["metadata"]["name"].endswith("-limits"):
            return bool(options.limits)
        case _:
            return True


def _move(it: Object, namespace: str) -> None:
    """Into the agent's namespace, and what refers to it."""
    metadata: dict[str, Any] = it["metadata"]
    if metadata.get("namespace") == HOME:
        metadata["namespace"] = namespace
    for subject in it.get("subjects", ()):
        subject["namespace"] = namespace
