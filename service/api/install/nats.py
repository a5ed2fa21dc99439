"""The agent's own NATS: one server with a volume, so that the outbox outlives the pod. Pure."""

from __future__ import annotations

from typing import Any

from service.api.install.options import Options
from service.api.install.parts import (
    LABELS,
    container_security,
    object_of,
    pod_security,
    selector,
)
from service.api.install.rights import Object

_CLAIM = {
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "5Gi"}},
    },
}


def nats_objects(options: Options) -> list[Object]:
    spec = {
        "serviceName": f"{options.name}-nats",
        "replicas": 1,
        "selector": {"matchLabels": selector("nats")},
        "template": {
            "metadata": {"labels": {**LABELS, **selector("nats")}},
            "spec": _pod(options),
        },
        "volumeClaimTemplates": [_CLAIM],
    }
    ports = [{"name": "client", "port": 4222, "targetPort": "client"}]
    service = {"clusterIP": "None", "selector": selector("nats"), "ports": ports}
    return [
        object_of("apps/v1", "StatefulSet", options, {"spec": spec}, "-nats"),
        object_of("v1", "Service", options, {"spec": service}, "-nats"),
    ]


def _pod(options: Options) -> dict[str, Any]:
    prefix = f"{options.registry.rstrip('/')}/" if options.registry else ""
    container = {
        "name": "nats",
        "image": f"{prefix}nats:2.12-alpine",
        "args": ["--jetstream", "--store_dir", "/data"],
        "ports": [{"name": "client", "containerPort": 4222}],
        "securityContext": container_security(),
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    pod: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "securityContext": pod_security(),
        "containers": [container],
    }
    if options.pull_secret:
        pod["imagePullSecrets"] = [{"name": options.pull_secret}]
    return pod
