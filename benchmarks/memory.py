"""What a live object costs in memory: N objects as an API server sends them, in the index.

Each size runs in a process of its own, because a process seldom gives memory back. Of ten objects
five are ConfigMaps, two Secrets and one a Deployment of an application; one is a ReplicaSet and one
a Pod that nobody tracks. Figures are differences of the resident set; nothing is asserted.

    python -m benchmarks.memory 1000 10000 50000
"""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import orjson

from agent.kube.index import LiveIndex
from agent.kube.summary import MANAGER, summarise
from handlers.manifest.tracking import stamp

SIZES = (1_000, 10_000, 50_000)
_PAGE = os.sysconf("SC_PAGE_SIZE")
_OBJECTS_PER_APP = 8
_TIME = "2026-11-21T08:00:00Z"
_LABELS = {"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "web-7"}


class MemoryFigure(msgspec.Struct, frozen=True, kw_only=True):
    objects: int
    sent_bytes_per_object: int
    rss_bytes_per_object: int
    rss_mib_per_1000: float
    body_bytes_per_object: int


def measure(size: int) -> MemoryFigure:
    for raw in raw_objects(200):  # what is loaded once is no object's cost
        summarise(raw)
    index = LiveIndex("argocd")
    gc.collect()
    before, sent = resident(), 0
    for raw in raw_objects(size):
        sent += len(raw)
        index.put(summarise(raw))
    gc.collect()
    gc.freeze()
    grown = resident() - before
    return MemoryFigure(
        objects=size,
        sent_bytes_per_object=sent // size,
        rss_bytes_per_object=grown // size,
        rss_mib_per_1000=round(grown / size * 1000 / 2**20, 2),
        body_bytes_per_object=bodies(index) // size,
    )


def raw_objects(size: int) -> Iterator[bytes]:
    for number in range(size):
        app = f"web-{number // _OBJECTS_PER_APP}"
        yield orjson.dumps(_object(number, app))


def bodies(index: LiveIndex) -> int:
    kinds = (("", "ConfigMap"), ("", "Secret"), ("apps", "Deployment"))
    return sum(len(live.body) for kind in kinds for live in index.of_kind(*kind))


def resident() -> int:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * _PAGE


def _object(number: int, app: str) -> dict[str, Any]:
    match number % 10:
        case 8:
            return _with_metadata(_replica_set(), number, owner=str(uuid.uuid4()))
        case 9:
            return _with_metadata(_pod(), number, owner=str(uuid.uuid4()))
        case 7:
            manifest = _deployment()
        case 5 | 6:
            manifest = {"apiVersion": "v1", "kind": "Secret", "data": {"token": "c2VjcmV0" * 8}}
        case _:
            data = {f"key-{line}": f"value {line} of object {number}" for line in range(20)}
            manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": data}
    return stamp(_with_metadata(manifest, number), app)


def _with_metadata(manifest: dict[str, Any], number: int, owner: str = "") -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": f"{manifest['kind'].lower()}-{number}",
        "namespace": f"team-{number % 50}",
        "uid": str(uuid.uuid4()),
        "resourceVersion": str(1_000_000 + number),
        "generation": 1,
        "creationTimestamp": _TIME,
        "labels": _LABELS,
        "managedFields": [_managed(manifest)],
    }
    if owner:
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner}
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    return {**manifest, "metadata": metadata}


def _managed(manifest: dict[str, Any]) -> dict[str, Any]:
    content = {name: manifest[name] for name in ("data", "spec") if name in manifest}
    return {
        "manager": MANAGER,
        "operation": "Apply",
        "apiVersion": manifest["apiVersion"],
        "time": _TIME,
        "fieldsType": "FieldsV1",
        "fieldsV1": _fields(content),
    }


def _fields(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        return {}
    return {f"f:{name}": _fields(value) for name, value in content.items()}


def _deployment() -> dict[str, Any]:
    selector = {"matchLabels": _LABELS}
    template = {"metadata": {"labels": _LABELS}, "spec": _pod()["spec"]}
    condition = {"status": "True", "lastUpdateTime": _TIME, "message": "all is well here"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"replicas": 3, "selector": selector, "template": template},
        "status": {
            "observedGeneration": 1,
            "replicas": 3,
            "updatedReplicas": 3,
            "availableReplicas": 3,
            "conditions": [{**condition, "type": kind} for kind in ("Available", "Progressing")],
        },
    }


def _replica_set() -> dict[str, Any]:
    return {**_deployment(), "kind": "ReplicaSet"}


def _pod() -> dict[str, Any]:
    container = {
        "name": "web",
        "image": "registry.example/team/web:1.2.3",
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": f"SETTING_{n}", "value": f"value {n}"} for n in range(8)],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    ready = {"type": "Ready", "status": "True"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"containers": [container], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst"},
        "status": {"phase": "Running", "conditions": [ready]},
    }


def in_own_process(size: int) -> MemoryFigure:
    command = [sys.executable, "-m", "benchmarks.memory", "--one", str(size)]
    result = subprocess.run(command, check=True, capture_output=True, timeout=600)
    return msgspec.json.decode(result.stdout, type=MemoryFigure)


def main(arguments: Sequence[str]) -> None:
    if arguments[:1] == ["--one"]:
        print(msgspec.json.encode(measure(int(arguments[1]))).decode())
        return
    sizes = [int(word) for word in arguments] or SIZES
    machine = {"cpus": os.cpu_count(), "python": platform.python_version()}
    figures = [msgspec.to_builtins(in_own_process(size)) for size in sizes]
    report = {"benchmark": "memory", "aim": 3072, "figures": figures, "machine": machine}
    print(orjson.dumps(report, option=orjson.OPT_INDENT_2).decode())


if __name__ == "__main__":
    main(sys.argv[1:])
