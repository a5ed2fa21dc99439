"""Every row of the built-in rules, kind by kind."""

import json
from typing import Any

import pytest

from handlers.health.assess import assess

H, P, D, S, U = "Healthy", "Progressing", "Degraded", "Suspended", "Unknown"


def obj(
    api: str, kind: str, spec: Any = None, status: Any = None, **metadata: Any
) -> dict[str, Any]:
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "x", "generation": 2, **metadata},
        "spec": spec or {},
        "status": status or {},
    }


def conditions(*statuses: str) -> dict[str, Any]:
    """`Type=Status/Reason/Message`, the last two optional."""
    found = []
    for text in statuses:
        kind, _, rest = text.partition("=")
        status, reason, message = (*rest.split("/"), "", "")[:3]
        found.append({"type": kind, "status": status, "reason": reason, "message": message})
    return {"conditions": found}


def judged(manifest: dict[str, Any]) -> str | None:
    health = assess(manifest)
    return health.status.value if health else None


SEEN = {"observedGeneration": 2}
DONE = {**SEEN, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3, "readyReplicas": 3}
THREE = {"replicas": 3}


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param(THREE, DONE, H, id="rolled out"),
        pytest.param(THREE | {"paused": True}, {}, S, id="paused, before anything else"),
        pytest.param(THREE, DONE | {"observedGeneration": 1}, P, id="spec not seen"),
        pytest.param(THREE, {}, P, id="no status"),
        pytest.param(
            THREE, DONE | conditions("Progressing=False/ProgressDeadlineExceeded"), D, id="deadline"
        ),
        pytest.param(
            THREE,
            DONE | conditions("Progressing=True/NewReplicaSetAvailable"),
            H,
            id="other reason",
        ),
        pytest.param(
            THREE,
            {"observedGeneration": 1} | conditions("Progressing=False/ProgressDeadlineExceeded"),
            P,
            id="old deadline, spec not seen",
        ),
        pytest.param(THREE, DONE | {"updatedReplicas": 2}, P, id="not all updated"),
        pytest.param(THREE, DONE | {"replicas": 4}, P, id="old ones left"),
        pytest.param(THREE, DONE | {"availableReplicas": 2}, P, id="not all available"),
        pytest.param({}, DONE, H, id="no replicas asked"),
        pytest.param({"replicas": 0}, SEEN, H, id="scaled to zero"),
    ],
)
def test_deployment(spec: Any, status: Any, expected: str) -> None:
    assert judged(obj("apps/v1", "Deployment", spec, status)) == expected


ROLLING = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}}
AT_ONE = {"updateRevision": "a", "currentRevision": "a"}
BEHIND = {"updateRevision": "b", "currentRevision": "a"}


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param(THREE, DONE | AT_ONE, H, id="at its revision"),
        pytest.param(THREE, DONE | {"observedGeneration": 0}, P, id="never seen"),
        pytest.param(THREE, DONE | {"observedGeneration": 1}, P, id="spec not seen"),
        pytest.param(THREE, DONE | {"readyReplicas": 2}, P, id="not all ready"),
        pytest.param(THREE | ROLLING, DONE | {"updatedReplicas": 1}, P, id="partition not done"),
        pytest.param(THREE | ROLLING, DONE | {"updatedReplicas": 2}, H, id="partition done"),
        pytest.param(
            THREE | {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {}}},
            DONE | BEHIND,
            H,
            id="rolling block without partition",
        ),
        pytest.param(
            THREE | {"updateStrategy": {"type": "RollingUpdate"}}, DONE | BEHIND, P, id="no block"
        ),
        pytest.param(
            THREE | {"updateStrategy": {"type": "OnDelete"}}, DONE | BEHIND, H, id="on delete"
        ),
        pytest.param(THREE, DONE | BEHIND, P, id="revision behind"),
        pytest.param({}, SEEN | AT_ONE, H, id="no replicas asked"),
    ],
)
def test_stateful_set(spec: Any, status: Any, expected: str) -> None:
    assert judged(obj("apps/v1", "StatefulSet", spec, status)) == expected


SPREAD = {**SEEN, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 3}


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param({}, SPREAD, H, id="on all nodes"),
        pytest.param({}, SPREAD | {"observedGeneration": 1}, P, id="spec not seen"),
        pytest.param(
            {"updateStrategy": {"type": "OnDelete"}},
            SPREAD | {"updatedNumberScheduled": 0},
            H,
            id="on delete",
        ),
        pytest.param({}, SPREAD | {"updatedNumberScheduled": 2}, P, id="not all updated"),
        pytest.param({}, SPREAD | {"numberAvailable": 2}, P, id="not all available"),
        pytest.param({}, SEEN, H, id="no node wanted"),
    ],
)
def test_daemon_set(spec: Any, status: Any, expected: str) -> None:
    assert judged(obj("apps/v1", "DaemonSet", spec, status)) == expected


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param(THREE, DONE, H, id="all available"),
        pytest.param(THREE, DONE | {"observedGeneration": 1}, P, id="spec not seen"),
        pytest.param(THREE, DONE | conditions("ReplicaFailure=True"), D, id="failure"),
        pytest.param(THREE, DONE | conditions("ReplicaFailure=False"), H, id="failure over"),
        pytest.param(THREE, DONE | {"availableReplicas": 1}, P, id="not all available"),
        pytest.param({}, SEEN, H, id="no replicas asked"),
    ],
)
def test_replica_set(spec: Any, status: Any, expected: str) -> None:
    assert judged(obj("apps/v1", "ReplicaSet", spec, status)) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({}, P, id="running"),
        pytest.param(conditions("Complete=True"), H, id="complete"),
        pytest.param(conditions("Failed=True"), D, id="failed"),
        pytest.param(conditions("Failed=False"), D, id="failed counts with any status"),
        pytest.param(conditions("Complete=True", "Failed=True"), D, id="failed beats complete"),
        pytest.param(conditions("Suspended=True"), S, id="suspended"),
        pytest.param(conditions("Suspended=False"), H, id="suspension lifted"),
        pytest.param(conditions("FailureTarget=True"), P, id="other condition"),
    ],
)
def test_job(status: Any, expected: str) -> None:
    assert judged(obj("batch/v1", "Job", {}, status)) == expected


EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
ACTIVE = {"active": [{"name": "run"}]}


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param({"suspend": True}, {"lastScheduleTime": LATE}, H, id="suspended"),
        pytest.param({}, {}, H, id="never due"),
        pytest.param({}, ACTIVE | {"lastScheduleTime": LATE}, H, id="first run"),
        pytest.param(
            {}, ACTIVE | {"lastScheduleTime": LATE, "lastSuccessfulTime": EARLY}, H, id="later run"
        ),
        pytest.param({}, {"lastScheduleTime": LATE}, H, id="never succeeded"),
        pytest.param(
            {}, {"lastScheduleTime": LATE, "lastSuccessfulTime": EARLY}, D, id="last run failed"
        ),
        pytest.param(
            {}, {"lastScheduleTime": EARLY, "lastSuccessfulTime": LATE}, H, id="last run succeeded"
        ),
    ],
)
def test_cron_job(spec: Any, status: Any, expected: str) -> None:
    assert judged(obj("batch/v1", "CronJob", spec, status)) == expected


@pytest.mark.parametrize(("spec", "expected"), [({}, P), ({"suspend": True}, H)])
def test_cron_job_without_status(spec: Any, expected: str) -> None:
    manifest = obj("batch/v1", "CronJob", spec)
    del manifest["status"]
    assert judged(manifest) == expected


def waiting(reason: str) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "c", "state": {"waiting": {"reason": reason}}}]}


def ended(**terminated: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "c", "state": {"terminated": terminated}}]}


ALWAYS, NEVER, ON_FAILURE = ({"restartPolicy": p} for p in ("Always", "Never", "OnFailure"))
RUNNING = {"phase": "Running"}
CRASHED = {"containerStatuses": [{"name": "c", "lastState": {"terminated": {"exitCode": 1}}}]}


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param(ALWAYS, RUNNING | waiting("ErrImagePull"), D, id="Err prefix"),
        pytest.param(ALWAYS, RUNNING | waiting("CreateContainerError"), D, id="Error suffix"),
        pytest.param(ALWAYS, RUNNING | waiting("CrashLoopBackOff"), D, id="BackOff suffix"),
        pytest.param(ALWAYS, {"phase": "Pending"} | waiting("ContainerCreating"), P, id="creating"),
        pytest.param(NEVER, RUNNING | waiting("ErrImagePull"), P, id="stuck, but meant to end"),
        pytest.param(ALWAYS, {"phase": "Pending"}, P, id="pending"),
        pytest.param(NEVER, {"phase": "Succeeded"}, H, id="succeeded"),
        pytest.param(NEVER, {"phase": "Failed"}, D, id="failed"),
        pytest.param(ALWAYS, RUNNING | conditions("Ready=True"), H, id="ready"),
        pytest.param({}, RUNNING | conditions("Ready=True"), H, id="default policy"),
        pytest.param(ALWAYS, RUNNING | conditions("Ready=False") | CRASHED, D, id="crashed before"),
        pytest.param(ALWAYS, RUNNING | conditions("Ready=False"), P, id="not ready yet"),
        pytest.param(ALWAYS, RUNNING | conditions("Ready=True") | CRASHED, H, id="recovered"),
        pytest.param(ON_FAILURE, RUNNING | conditions("Ready=True"), P, id="on failure runs"),
        pytest.param(NEVER, RUNNING, P, id="never runs"),
        pytest.param(ALWAYS, {"phase": "Unknown"}, U, id="unknown phase"),
        pytest.param(ALWAYS, {}, U, id="no status"),
    ],
)
def test_pod(spec: Any, status: Any, expected: str) -> None:
    assert judged(obj("v1", "Pod", spec, status)) == expected


IGNORE = {"argocd.argoproj.io/ignore-restart-policy": "true"}
HOOK = {"argocd.argoproj.io/hook": "PreSync"}


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [(IGNORE, H), (IGNORE | HOOK, P), ({}, P)],
    ids=["annotated", "a hook ends", "plain"],
)
def test_pod_that_ignores_its_restart_policy(annotations: Any, expected: str) -> None:
    status = RUNNING | conditions("Ready=True")
    assert judged(obj("v1", "Pod", NEVER, status, annotations=annotations)) == expected


@pytest.mark.parametrize(
    ("status", "message"),
    [
        pytest.param({"message": "evicted"} | ended(message="no"), "evicted", id="of the pod"),
        pytest.param(ended(message="boom", exitCode=1), "boom", id="of the container"),
        pytest.param(ended(reason="OOMKilled", exitCode=137), "OOMKilled", id="memory"),
        pytest.param(ended(exitCode=3), 'container "c" failed with exit code 3', id="exit code"),
        pytest.param(ended(exitCode=0), "", id="nothing to tell"),
        pytest.param(
            {"initContainerStatuses": ended(message="init")["containerStatuses"]}
            | ended(message="main"),
            "init",
            id="init container first",
        ),
    ],
)
def test_failed_pod_says_why(status: Any, message: str) -> None:
    health = assess(obj("v1", "Pod", NEVER, {"phase": "Failed"} | status))
    assert health is not None
    assert (health.status.value, health.message) == (D, message)


def test_stuck_containers_are_all_named() -> None:
    stuck = [
        {"state": {"waiting": {"reason": "ErrImagePull", "message": text}}} for text in ("a", "b")
    ]
    health = assess(obj("v1", "Pod", ALWAYS, RUNNING | {"containerStatuses": stuck}))
    assert health is not None
    assert health.message == "a, b"


ADDRESS = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}


@pytest.mark.parametrize(
    ("api", "kind", "spec", "status", "expected"),
    [
        pytest.param("v1", "Service", {}, {}, H, id="cluster service"),
        pytest.param("v1", "Service", {"type": "NodePort"}, {}, H, id="node port"),
        pytest.param("v1", "Service", {"type": "LoadBalancer"}, ADDRESS, H, id="addressed"),
        pytest.param("v1", "Service", {"type": "LoadBalancer"}, {}, P, id="no address"),
        pytest.param("networking.k8s.io/v1", "Ingress", {}, ADDRESS, H, id="ingress addressed"),
        pytest.param("networking.k8s.io/v1", "Ingress", {}, {}, P, id="ingress without address"),
        pytest.param("extensions/v1beta1", "Ingress", {}, ADDRESS, H, id="old ingress"),
        pytest.param(
            "networking.k8s.io/v1", "Ingress", {}, {"loadBalancer": {"ingress": []}}, P, id="empty"
        ),
        pytest.param("v1", "PersistentVolumeClaim", {}, {"phase": "Bound"}, H, id="bound"),
        pytest.param("v1", "PersistentVolumeClaim", {}, {"phase": "Pending"}, P, id="pending"),
        pytest.param("v1", "PersistentVolumeClaim", {}, {"phase": "Lost"}, D, id="lost"),
        pytest.param("v1", "PersistentVolumeClaim", {}, {"phase": "Odd"}, U, id="odd phase"),
        pytest.param("v1", "PersistentVolumeClaim", {}, {}, U, id="no phase"),
    ],
)
def test_network_and_storage(api: str, kind: str, spec: Any, status: Any, expected: str) -> None:
    assert judged(obj(api, kind, spec, status)) == expected


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        pytest.param([], P, id="no conditions"),
        pytest.param(["AbleToScale=True/ReadyForNewScale"], H, id="able"),
        pytest.param(["ScalingLimited=True/TooFewReplicas"], H, id="limited"),
        pytest.param(["AbleToScale=False/BackoffBoth"], P, id="backing off"),
        pytest.param(["AbleToScale=False/FailedGetScale"], D, id="no scale"),
        pytest.param(["AbleToScale=False/FailedUpdateScale"], D, id="scale not updated"),
        *(
            pytest.param(["AbleToScale=True", f"ScalingActive=False/{reason}"], D, id=reason)
            for reason in (
                "FailedGetResourceMetric",
                "FailedGetObjectMetric",
                "FailedGetPodsMetric",
                "FailedGetExternalMetric",
                "FailedComputeMetricsReplicas",
                "InvalidSelector",
            )
        ),
        pytest.param(["AbleToScale=True", "ScalingActive=False/ScalingDisabled"], H, id="disabled"),
    ],
)
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_horizontal_pod_autoscaler(version: str, statuses: list[str], expected: str) -> None:
    document = conditions(*statuses)
    written = {"autoscaling.alpha.kubernetes.io/conditions": json.dumps(document["conditions"])}
    manifest = (
        obj("autoscaling/v2", "HorizontalPodAutoscaler", {}, document)
        if version == "v2"
        else obj("autoscaling/v1", "HorizontalPodAutoscaler", annotations=written)
    )
    assert judged(manifest) == expected


def test_autoscaler_with_a_broken_annotation_is_unknown() -> None:
    broken = {"autoscaling.alpha.kubernetes.io/conditions": "{"}
    assert judged(obj("autoscaling/v1", "HorizontalPodAutoscaler", annotations=broken)) == U


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({}, P, id="no status"),
        pytest.param(conditions("Available=True/Passed/all checks"), H, id="available"),
        pytest.param(conditions("Available=False/Missing/no endpoint"), P, id="not available"),
    ],
)
def test_api_service(version: str, status: Any, expected: str) -> None:
    assert judged(obj(f"apiregistration.k8s.io/{version}", "APIService", {}, status)) == expected


def test_api_service_gives_reason_and_message() -> None:
    status = conditions("Available=False/Missing/no endpoint")
    health = assess(obj("apiregistration.k8s.io/v1", "APIService", {}, status))
    assert health is not None
    assert health.message == "Missing: no endpoint"


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        pytest.param([], P, id="no status"),
        pytest.param(["NamesAccepted=True", "Established=True"], H, id="established"),
        pytest.param(["Established=True", "Terminating=True"], P, id="terminating"),
        pytest.param(["NamesAccepted=False", "Established=True"], D, id="names taken"),
        pytest.param(["NamesAccepted=True", "Established=False/Installing"], P, id="installing"),
        pytest.param(["NamesAccepted=True"], P, id="not established yet"),
        pytest.param(["NamesAccepted=True", "Established=False/Bad"], D, id="not established"),
        pytest.param(["Established=True", "NonStructuralSchema=True"], D, id="schema"),
    ],
)
def test_custom_resource_definition(statuses: list[str], expected: str) -> None:
    api = "apiextensions.k8s.io/v1"
    assert judged(obj(api, "CustomResourceDefinition", {}, conditions(*statuses))) == expected


ENOUGH = {"currentHealthy": 2, "desiredHealthy": 2}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({}, P, id="no status"),
        pytest.param(ENOUGH | conditions("DisruptionAllowed=True/SufficientPods"), H, id="enough"),
        pytest.param(
            ENOUGH | conditions("DisruptionAllowed=False/InsufficientPods"), H, id="none to spare"
        ),
        pytest.param(
            {"currentHealthy": 1, "desiredHealthy": 2}
            | conditions("DisruptionAllowed=False/InsufficientPods"),
            H,
            id="too few",
        ),
        pytest.param(
            conditions(
                "DisruptionAllowed=True/SufficientPods", "DisruptionAllowed=False/SyncFailed"
            ),
            D,
            id="any of several conditions",
        ),
        pytest.param(
            conditions("DisruptionAllowed=False/InsufficientPods", "Other=True"), H, id="several"
        ),
        pytest.param(conditions("DisruptionAllowed=False/SyncFailed"), D, id="sync failed"),
    ],
)
def test_pod_disruption_budget(status: Any, expected: str) -> None:
    assert judged(obj("policy/v1", "PodDisruptionBudget", {}, status)) == expected


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        ("", P),
        ("Pending", P),
        ("Running", P),
        ("Succeeded", H),
        ("Failed", D),
        ("Error", D),
        ("?", U),
    ],
)
def test_workflow(phase: str, expected: str) -> None:
    assert judged(obj("argoproj.io/v1alpha1", "Workflow", {}, {"phase": phase})) == expected


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("argoproj.io/v1alpha1", "Application"),
        ("v1", "ConfigMap"),
        ("v1", "Namespace"),
        ("example.com/v1", "Deployment"),
    ],
)
def test_kind_without_a_rule_has_no_health(api: str, kind: str) -> None:
    assert assess(obj(api, kind)) is None


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("apps/v1beta1", "Deployment"),
        ("apps/v1beta2", "StatefulSet"),
        ("batch/v1beta1", "Job"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler"),
        ("v2", "Pod"),
    ],
)
def test_version_that_a_rule_cannot_read_is_unknown(api: str, kind: str) -> None:
    health = assess(obj(api, kind))
    assert health is not None
    assert health.status.value == U
    assert api in health.message


GONE = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
HELD = GONE | {"finalizers": ["argocd.argoproj.io/hook-finalizer"]}


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (obj("v1", "ConfigMap", **GONE), P),
        (obj("apps/v1", "Deployment", {"paused": True}, **GONE), P),
        (obj("batch/v1", "Job", {}, conditions("Complete=True"), **HELD), H),
        (obj("v1", "ConfigMap", **HELD), None),
    ],
    ids=["any kind", "before its rule", "a held hook is judged", "held, without a rule"],
)
def test_deletion_speaks_first(manifest: Any, expected: str | None) -> None:
    assert judged(manifest) == expected


@pytest.mark.parametrize(
    "status", [None, [], "x", {"conditions": "x"}, {"conditions": [None]}], ids=str
)
@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("apps/v1", "Deployment"),
        ("v1", "Pod"),
        ("batch/v1", "Job"),
        ("batch/v1", "CronJob"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("policy/v1", "PodDisruptionBudget"),
    ],
)
def test_malformed_status_is_judged_without_failing(api: str, kind: str, status: Any) -> None:
    manifest = obj(api, kind) | {"status": status}
    assert judged(manifest) != D
