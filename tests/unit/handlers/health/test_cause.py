"""The deepest ill object of an application, and what it says of itself."""

from typing import Any

import orjson
import pytest

from agent.kube.summary import summarise
from bus.identity import ResourceKey
from handlers.application.status import ApplicationStatus, ResourceStatus
from handlers.health.cause import cause_of, deepest_ill
from handlers.ports import LiveObject

SINCE = "2026-01-02T03:04:05Z"
PULL = 'Back-off pulling image "web:9": not found'


class Graph:
    """Live objects by key and by owner, as the index has them."""

    def __init__(self, *manifests: dict[str, Any]) -> None:
        lives = [summarise(orjson.dumps(one)) for one in manifests]
        self.lives = {live.key: live for live in lives}

    def get(self, key: ResourceKey) -> LiveObject | None:
        return self.lives.get(key)

    def owned_by(self, uid: str) -> tuple[LiveObject, ...]:
        return tuple(live for live in self.lives.values() if uid in live.owners)


def an_object(kind: str, name: str, owner: str = "", **more: Any) -> dict[str, Any]:
    groups = {"Pod": "v1", "PersistentVolumeClaim": "v1", "Job": "batch/v1"}
    owners = [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": owner}] if owner else []
    metadata = {"name": name, "namespace": "shop", "uid": name, "ownerReferences": owners}
    version = groups.get(kind, "apps/v1")
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def a_pod(name: str, owner: str, state: dict[str, Any], **status: Any) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": SINCE}
    containers = [{"name": "web", "state": state, "lastState": status.pop("last", {})}]
    phase = {"phase": "Pending", "conditions": [ready], "containerStatuses": containers}
    return an_object("Pod", name, owner, status={**phase, **status})


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


DEPLOYMENT = an_object("Deployment", "web", spec={"replicas": 1}, status={"replicas": 1})
REPLICA_SET = an_object("ReplicaSet", "web-1", "web", spec={"replicas": 1}, status={})
STATUS = ApplicationStatus(
    resources=(
        ResourceStatus(group="apps", version="v1", kind="Deployment", namespace="shop", name="web"),
    )
)


def cause(*manifests: dict[str, Any]) -> tuple[str, str, str]:
    live = deepest_ill(STATUS, Graph(*manifests))
    assert live is not None
    found = cause_of(live)
    return found.object, found.reason, found.message


def test_an_image_that_cannot_be_pulled_is_the_pods_trouble_not_the_deployments() -> None:
    pod = a_pod("web-1-x", "web-1", waiting("ImagePullBackOff", PULL))
    found = deepest_ill(STATUS, Graph(DEPLOYMENT, REPLICA_SET, pod))
    assert found is not None
    cause = cause_of(found)
    assert cause.object == "/Pod/shop/web-1-x"
    assert (cause.reason, cause.since) == ("ImagePullBackOff", SINCE)
    assert "web:9" in cause.message


def test_a_crash_says_how_the_last_run_ended() -> None:
    last = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    pod = a_pod("p", "web-1", waiting("CrashLoopBackOff", "back-off 40s"), last=last)
    assert cause(DEPLOYMENT, REPLICA_SET, pod) == (
        "/Pod/shop/p",
        "CrashLoopBackOff",
        "container web: back-off 40s; last run: exit code 137 (OOMKilled)",
    )


def test_a_pod_that_no_node_takes_says_so() -> None:
    pod = an_object("Pod", "p", "web-1")
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pod["status"] = {"phase": "Pending", "conditions": [{**scheduled, "message": "no memory"}]}
    assert cause(DEPLOYMENT, REPLICA_SET, pod) == ("/Pod/shop/p", "Unschedulable", "no memory")


def test_pods_that_may_not_be_made_are_the_replica_sets_trouble() -> None:
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
    status = {"conditions": [{**failure, "message": "exceeded quota"}]}
    replicas = an_object("ReplicaSet", "web-1", "web", spec={"replicas": 1}, status=status)
    assert cause(DEPLOYMENT, replicas) == (
        "apps/ReplicaSet/shop/web-1",
        "FailedCreate",
        "exceeded quota",
    )


def test_a_degraded_pod_weighs_more_than_one_that_only_starts() -> None:
    starts = a_pod("a", "web-1", waiting("ContainerCreating"))
    broken = a_pod("b", "web-1", waiting("ErrImagePull", PULL))
    assert cause(DEPLOYMENT, REPLICA_SET, starts, broken)[0] == "/Pod/shop/b"


@pytest.mark.parametrize("kind", ["Job", "PersistentVolumeClaim"])
def test_an_object_without_children_is_its_own_cause(kind: str) -> None:
    failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
    one = an_object(kind, "one", status={"phase": "Lost", "conditions": [failed]})
    group = "batch" if kind == "Job" else ""
    own = ResourceStatus(group=group, version="v1", kind=kind, namespace="shop", name="one")
    found = deepest_ill(ApplicationStatus(resources=(own,)), Graph(one))
    assert found is not None
    assert cause_of(found).object == f"{group}/{kind}/shop/one"
    assert cause_of(found).reason == "BackoffLimitExceeded"


def test_an_application_whose_objects_are_well_has_no_cause() -> None:
    well = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
    deployment = an_object("Deployment", "web", spec={"replicas": 1}, status=well)
    assert deepest_ill(STATUS, Graph(deployment)) is None
