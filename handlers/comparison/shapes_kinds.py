"""The shape of pods and of each built-in kind that needs one; see `shapes` for what a shape is."""

from __future__ import annotations

from handlers.comparison.shapes import (
    METADATA,
    PLAIN,
    QUANTITIES,
    QUANTITY,
    RESOURCES,
    SET,
    TCP,
    Shape,
    atomic,
    by,
    record,
    spec,
)
from handlers.manifest.kinds import GroupKind

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
CONTAINER = record(
    ports=by("containerPort", "protocol", each=TCP),
    env=by("name", each=_ENV),
    volumeMounts=by("mountPath"),
    volumeDevices=by("devicePath"),
    resources=RESOURCES,
)
VOLUME = record(
    emptyDir=record(sizeLimit=QUANTITY),
    downwardAPI=_DOWNWARD,
    ephemeral=record(volumeClaimTemplate=spec(PVC_SPEC)),
    projected=record(
        sources=atomic(record(downwardAPI=_DOWNWARD, serviceAccountToken=_TOKEN)),
    ),
)
POD_SPEC = record(
    containers=by("name", each=CONTAINER),
    initContainers=by("name", each=CONTAINER),
    ephemeralContainers=by("name", each=CONTAINER),
    volumes=by("name", each=VOLUME),
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


_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"

_LIMIT = Shape(
    fields={
        "default": QUANTITIES,
        "defaultRequest": QUANTITIES,
        "max": QUANTITIES,
        "min": QUANTITIES,
        "maxLimitRequestRatio": QUANTITIES,
    },
    computed=frozenset({"default", "defaultRequest"}),
)
_EXACTLY = record(defaults={"allocationMode": "ExactCount", "count": 1})
_DEVICE = record(capacity=Shape(each=record(value=QUANTITY)))
_BARE_POD_SPEC = Shape(fields={**POD_SPEC.fields, "tolerations": SET})
"""Admission adds tolerations to pods, though the list is atomic."""
_CLAIM = spec(record(devices=record(requests=atomic(record(exactly=_EXACTLY)))))
_TARGET = record(target=record(value=QUANTITY, averageValue=QUANTITY))
_METRIC = record(
    resource=_TARGET,
    containerResource=_TARGET,
    pods=_TARGET,
    object=_TARGET,
    external=_TARGET,
)
_PEERS = atomic(record(ports=atomic(TCP)))
_SUBJECT = record(defaults={"apiGroup": _RBAC, "namespace": ""})
_BINDING = record(subjects=atomic(_SUBJECT), roleRef=record())
_RULE = record(defaults={"scope": "*"})
_WEBHOOK = record(rules=atomic(_RULE), matchConditions=by("name"))
_MATCH = record(resourceRules=atomic(_RULE), excludeResourceRules=atomic(_RULE))
_SELECTED = record(fieldRef=PLAIN, resource=PLAIN)
_SUBSETS = atomic(record(ports=atomic(TCP), addresses=atomic(_SELECTED)))
_DEFINED = record(defaults={"served": True, "storage": False})

_SHAPES: dict[GroupKind, Shape] = {
    GroupKind("", "Pod"): spec(_BARE_POD_SPEC),
    GroupKind("", "PodTemplate"): record(template=POD_TEMPLATE),
    GroupKind("", "ReplicationController"): TEMPLATED,
    GroupKind("apps", "Deployment"): TEMPLATED,
    GroupKind("apps", "ReplicaSet"): TEMPLATED,
    GroupKind("apps", "DaemonSet"): TEMPLATED,
    GroupKind("apps", "StatefulSet"): spec(
        record(template=POD_TEMPLATE, volumeClaimTemplates=atomic(CLAIM_TEMPLATE))
    ),
    GroupKind("batch", "Job"): spec(JOB_SPEC),
    GroupKind("batch", "CronJob"): spec(record(jobTemplate=spec(JOB_SPEC))),
    GroupKind("", "Service"): spec(record(ports=by("port", "protocol", each=TCP))),
    GroupKind("", "ServiceAccount"): record(secrets=by("name")),
    GroupKind("", "Endpoints"): record(subsets=_SUBSETS),
    GroupKind("", "PersistentVolumeClaim"): spec(PVC_SPEC),
    GroupKind("", "PersistentVolume"): spec(record(capacity=QUANTITIES)),
    GroupKind("", "ResourceQuota"): spec(record(hard=QUANTITIES)),
    GroupKind("", "LimitRange"): spec(record(limits=atomic(_LIMIT))),
    GroupKind("", "Node"): spec(record(podCIDRs=SET)),
    GroupKind("autoscaling", "HorizontalPodAutoscaler"): spec(record(metrics=atomic(_METRIC))),
    GroupKind("discovery.k8s.io", "EndpointSlice"): record(ports=atomic(TCP)),
    GroupKind("networking.k8s.io", "NetworkPolicy"): spec(record(ingress=_PEERS, egress=_PEERS)),
    GroupKind("node.k8s.io", "RuntimeClass"): record(overhead=record(podFixed=QUANTITIES)),
    GroupKind("storage.k8s.io", "CSIStorageCapacity"): record(
        capacity=QUANTITY, maximumVolumeSize=QUANTITY
    ),
    GroupKind("resource.k8s.io", "ResourceClaim"): _CLAIM,
    GroupKind("resource.k8s.io", "ResourceClaimTemplate"): spec(_CLAIM),
    GroupKind("resource.k8s.io", "ResourceSlice"): spec(record(devices=atomic(_DEVICE))),
    GroupKind("storage.k8s.io", "CSINode"): spec(record(drivers=by("name"))),
    GroupKind(_RBAC, "RoleBinding"): _BINDING,
    GroupKind(_RBAC, "ClusterRoleBinding"): _BINDING,
    GroupKind(_ADMISSION, "MutatingWebhookConfiguration"): record(
        webhooks=by("name", each=_WEBHOOK)
    ),
    GroupKind(_ADMISSION, "ValidatingWebhookConfiguration"): record(
        webhooks=by("name", each=_WEBHOOK)
    ),
    GroupKind(_ADMISSION, "ValidatingAdmissionPolicy"): spec(
        record(matchConstraints=_MATCH, matchConditions=by("name"), variables=by("name"))
    ),
    GroupKind(_ADMISSION, "MutatingAdmissionPolicy"): spec(
        record(matchConstraints=_MATCH, matchConditions=by("name"), variables=by("name"))
    ),
    GroupKind(_ADMISSION, "ValidatingAdmissionPolicyBinding"): spec(
        record(matchResources=_MATCH, validationActions=SET)
    ),
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"): spec(
        record(versions=atomic(_DEFINED))
    ),
}
_WITH_METADATA = {
    kind: Shape(fields={**shape.fields, "metadata": METADATA}) for kind, shape in _SHAPES.items()
}
_OTHER = record(metadata=METADATA)


def shape_of(kind: GroupKind) -> Shape:
    return _WITH_METADATA.get(kind, _OTHER)


def is_built_in(kind: GroupKind) -> bool:
    """Kubernetes' own groups have no dot, or end in `.k8s.io`; their servers drop empty fields."""
    return "." not in kind.group or kind.group.endswith(".k8s.io")
