"""The Kubernetes objects of an agent: the chart's, with what was chosen. Pure.

The rights are the least for what was chosen. No object holds a credential: the enrolment token is
read from a Secret that is made by hand, and the agent makes its keys in the cluster.
"""

from __future__ import annotations

from typing import Any

from service.api.install import made
from service.api.install.choices import change
from service.api.install.made import DEFINITION, HOME, Object
from service.api.install.options import Options


def objects(options: Options) -> list[Object]:
    """Whatever `kubectl apply` needs, the namespace and the definitions first."""
    return [_moved(it, options.namespace) for it in unmoved(options)]


def unmoved(options: Options) -> list[Object]:
    """As they are in the namespace that the chart's base is made for."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}
    chosen = [it for it in made.fullest() if _wanted(it, options)]
    for it in chosen:
        change(it, options)
    return [space, *sorted(chosen, key=lambda it: it["kind"] != DEFINITION)]


def _wanted(it: Object, options: Options) -> bool:
    match it["kind"]:
        case made.DEFINITION:
            return options.definitions
        case "ConfigMap" if it["metadata"]["name"].endswith("-limits"):
            return bool(options.limits)
        case _:
            return True


def _moved(it: Object, namespace: str) -> Object:
    """Into the chosen namespace, and what refers to it."""
    metadata: dict[str, Any] = it["metadata"]
    if it["kind"] == "Namespace":
        metadata["name"] = namespace
    if metadata.get("namespace") == HOME:
        metadata["namespace"] = namespace
    for subject in it.get("subjects", ()):
        subject["namespace"] = namespace
    return it
