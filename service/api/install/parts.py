"""What all objects of an agent share: names, labels, and pods that may do nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.api.install.options import Options
from service.api.install.rights import Object

LABELS = {"app.kubernetes.io/name": "gitops-agent", "app.kubernetes.io/part-of": "gitops-house"}


def object_of(
    api: str, kind: str, options: Options, more: Mapping[str, Any], suffix: str = ""
) -> Object:
    name = options.name + suffix
    metadata = {"name": name, "namespace": options.namespace, "labels": dict(LABELS)}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **more}


def selector(component: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "gitops-agent",
        "app.kubernetes.io/component": component,
    }


def pod_security() -> Object:
    return {
        "runAsNonRoot": True,
        "runAsUser": 10001,
        "runAsGroup": 10001,
        "fsGroup": 10001,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security() -> Object:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
