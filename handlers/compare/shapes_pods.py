"""The shape of a pod and of everything that has a pod template."""

from __future__ import annotations

from handlers.compare.shapes import (
    METADATA,
    QUANTITIES,
    QUANTITY,
    RESOURCES,
    TCP,
    Shape,
    atomic,
    by,
    record,
    spec,
)

_FIELD_REF = record(defaults={"apiVersion": "v1"})
_RESOURCE_REF = record(defaults={"divisor": "0"}, divisor=QUANTITY)
_ENV = record(valueFrom=record(fieldRef=_FIELD_REF, resourceFieldRef=_RESOURCE_REF))
_DOWNWARD = record(items=atomic(record(fieldRef=_FIELD_REF, resourceFieldRef=_RESOURCE_REF)))
_TOKEN = record(defaults={"expirationSeconds": 3600})

PVC_SPEC = record(resources=RESOURCES, defaults={"volumeMode": "Filesystem"})
CLAIM_TEMPLATE = record(
    metadata=METADATA,
    spec=PVC_SPEC,
    defaults={
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "status": {"phase": "Pending"},
    },
)
_CONTAINER = record(
    ports=by("containerPort", "protocol", each=TCP),
    env=by("name", each=_ENV),
    volumeMounts=by("mountPath"),
    volumeDevices=by("devicePath"),
    resources=RESOURCES,
)
_VOLUME = record(
    emptyDir=record(sizeLimit=QUANTITY),
    downwardAPI=_DOWNWARD,
    ephemeral=record(volumeClaimTemplate=spec(PVC_SPEC)),
    projected=record(
        sources=atomic(record(downwardAPI=_DOWNWARD, serviceAccountToken=_TOKEN)),
    ),
)
POD_SPEC = record(
    containers=by("name", each=_CONTAINER),
    initContainers=by("name", each=_CONTAINER),
    ephemeralContainers=by("name", each=_CONTAINER),
    volumes=by("name", each=_VOLUME),
    imagePullSecrets=by("name"),
    hostAliases=by("ip"),
    topologySpreadConstraints=by("topologyKey", "whenUnsatisfiable"),
    resourceClaims=by("name"),
    schedulingGates=by("name"),
    overhead=QUANTITIES,
    resources=RESOURCES,
)
POD_TEMPLATE = record(metadata=METADATA, spec=POD_SPEC)
JOB_SPEC = record(template=POD_TEMPLATE)
TEMPLATED: Shape = spec(record(template=POD_TEMPLATE))
