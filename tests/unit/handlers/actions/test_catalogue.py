"""Each action of the catalogue: what it changes, and when it is offered as disabled."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from handlers.actions.action import ActionCall, ActionChange, ActionChangeKind, ActionError
from handlers.actions.catalogue import actions_of
from handlers.actions.listing import offers

NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
TIME = "2026-11-22T09:30:00Z"

CATALOGUE = """
apps/DaemonSet: restart
apps/Deployment: pause, restart, resume, scale
apps/StatefulSet: restart, scale
argoproj.io/AnalysisRun: terminate
argoproj.io/Application: toggle-auto-sync
argoproj.io/CronWorkflow: create-workflow
argoproj.io/Rollout: abort, pause, promote-full, restart, resume, retry, skip-current-step
argoproj.io/WorkflowTemplate: create-workflow
batch/CronJob: create-job, resume, suspend
batch/Job: resume, suspend, terminate
core.strimzi.io/StrimziPodSet: rolling-update
external-secrets.io/ExternalSecret: refresh
external-secrets.io/PushSecret: push
helm.toolkit.fluxcd.io/HelmRelease: reconcile, resume, suspend
image.toolkit.fluxcd.io/ImageRepository: reconcile, resume, suspend
image.toolkit.fluxcd.io/ImageUpdateAutomation: reconcile, resume, suspend
k8s.mariadb.com/MariaDB: resume, suspend
keda.sh/ScaledJob: pause, resume
keda.sh/ScaledObject: pause, paused-replicas, resume
kustomize.toolkit.fluxcd.io/Kustomization: reconcile, resume, suspend
notification.toolkit.fluxcd.io/Alert: resume, suspend
notification.toolkit.fluxcd.io/Provider: resume, suspend
notification.toolkit.fluxcd.io/Receiver: reconcile, resume, suspend
numaflow.numaproj.io/InterStepBufferService: force-promote
numaflow.numaproj.io/MonoVertex: force-promote, pause, unpause-fast, unpause-gradual
numaflow.numaproj.io/Pipeline: delete, force-promote, pause, unpause-fast, unpause-gradual
numaplane.numaproj.io/MonoVertexRollout: pause, unpause-fast, unpause-gradual
numaplane.numaproj.io/PipelineRollout: allow-data-loss, disallow-data-loss, pause, unpause-fast, unpause-gradual
postgresql.cnpg.io/Cluster: promote, reload, restart, resume, suspend
promoter.argoproj.io/PullRequest: merge
psmdb.percona.com/PerconaServerMongoDB: pause, unpause
source.toolkit.fluxcd.io/Bucket: reconcile, resume, suspend
source.toolkit.fluxcd.io/GitRepository: reconcile, resume, suspend
source.toolkit.fluxcd.io/HelmChart: reconcile, resume, suspend
source.toolkit.fluxcd.io/HelmRepository: reconcile, resume, suspend
source.toolkit.fluxcd.io/OCIRepository: reconcile, resume, suspend
"""  # noqa: E501  a row a kind


@pytest.mark.parametrize("row", CATALOGUE.strip().splitlines())
def test_a_kind_has_the_actions_of_argo_cd(row: str) -> None:
    kind, _, names = row.partition(": ")

    assert [one.name for one in actions_of(*kind.split("/"))] == names.split(", ")


def object_of(
    kind: str, spec: Any = None, status: Any = None, annotations: Any = None
) -> dict[str, Any]:
    group, _, name = kind.partition("/")
    metadata = {"name": "web", "namespace": "shop", "uid": "u", "generation": 3}
    return {
        "apiVersion": f"{group}/v1",
        "kind": name,
        "metadata": {**metadata, "annotations": annotations or {}},
        "spec": spec or {},
        "status": status or {},
    }


def changes(manifest: dict[str, Any], action: str, **params: str) -> tuple[ActionChange, ...]:
    group = manifest["apiVersion"].partition("/")[0]
    (found,) = (one for one in actions_of(group, manifest["kind"]) if one.name == action)
    return found.run(manifest, ActionCall(now=NOW, params=params))


def patch(manifest: dict[str, Any], action: str, **params: str) -> dict[str, Any]:
    """The one patch that the action makes, with that of the status."""
    made = changes(manifest, action, **params)
    assert {one.kind for one in made} <= {ActionChangeKind.PATCH, ActionChangeKind.PATCH_STATUS}
    return {name: value for one in made for name, value in one.content.items()}


def noted(name: str, value: str | None) -> dict[str, Any]:
    return {"metadata": {"annotations": {name: value}}}


RESTARTED = {"kubectl.kubernetes.io/restartedAt": TIME}
RESTART = {"spec": {"template": {"metadata": {"annotations": RESTARTED}}}}
CNPG = "cnpg.io/reconciliationLoop"


@pytest.mark.parametrize(
    ("kind", "action", "expected"),
    [
        ("apps/Deployment", "restart", RESTART),
        ("apps/StatefulSet", "restart", RESTART),
        ("apps/DaemonSet", "restart", RESTART),
        ("apps/Deployment", "pause", {"spec": {"paused": True}}),
        ("apps/Deployment", "resume", {"spec": {"paused": None}}),
        ("batch/CronJob", "suspend", {"spec": {"suspend": True}}),
        ("batch/Job", "resume", {"spec": {"suspend": False}}),
        ("argoproj.io/Rollout", "pause", {"spec": {"paused": True}}),
        (
            "argoproj.io/Rollout",
            "resume",
            {"spec": {"paused": False}, "status": {"pauseConditions": None}},
        ),
        ("argoproj.io/Rollout", "abort", {"status": {"abort": True}}),
        ("argoproj.io/Rollout", "retry", {"status": {"abort": None}}),
        ("argoproj.io/Rollout", "restart", {"spec": {"restartAt": TIME}}),
        ("argoproj.io/AnalysisRun", "terminate", {"spec": {"terminate": True}}),
        ("external-secrets.io/ExternalSecret", "refresh", noted("force-sync", TIME)),
        ("external-secrets.io/PushSecret", "push", noted("force-sync", TIME)),
        (
            "kustomize.toolkit.fluxcd.io/Kustomization",
            "reconcile",
            noted("reconcile.fluxcd.io/requestedAt", TIME),
        ),
        ("helm.toolkit.fluxcd.io/HelmRelease", "suspend", {"spec": {"suspend": True}}),
        (
            "core.strimzi.io/StrimziPodSet",
            "rolling-update",
            noted("strimzi.io/manual-rolling-update", "true"),
        ),
        ("keda.sh/ScaledJob", "pause", noted("autoscaling.keda.sh/paused", "true")),
        ("keda.sh/ScaledJob", "resume", noted("autoscaling.keda.sh/paused", None)),
        (
            "keda.sh/ScaledObject",
            "resume",
            {
                "metadata": {
                    "annotations": {
                        "autoscaling.keda.sh/paused": None,
                        "autoscaling.keda.sh/paused-replicas": None,
                    }
                }
            },
        ),
        ("postgresql.cnpg.io/Cluster", "suspend", noted(CNPG, "disabled")),
        ("postgresql.cnpg.io/Cluster", "resume", noted(CNPG, None)),
        ("postgresql.cnpg.io/Cluster", "reload", noted("cnpg.io/reloadedAt", TIME)),
        ("psmdb.percona.com/PerconaServerMongoDB", "pause", {"spec": {"pause": True}}),
        ("psmdb.percona.com/PerconaServerMongoDB", "unpause", {"spec": {"pause": False}}),
        ("promoter.argoproj.io/PullRequest", "merge", {"spec": {"state": "merged"}}),
        (
            "numaflow.numaproj.io/MonoVertex",
            "unpause-gradual",
            {"spec": {"lifecycle": {"desiredPhase": "Running"}, "replicas": None}},
        ),
        (
            "numaplane.numaproj.io/PipelineRollout",
            "pause",
            {"spec": {"pipeline": {"spec": {"lifecycle": {"desiredPhase": "Paused"}}}}},
        ),
    ],
)
def test_an_action_is_a_merge_patch(kind: str, action: str, expected: dict[str, Any]) -> None:
    assert patch(object_of(kind), action) == expected


@pytest.mark.parametrize("replicas", ["0", "3", " 7 "])
def test_scaling_takes_a_number(replicas: str) -> None:
    expected = {"spec": {"replicas": int(replicas)}}

    assert patch(object_of("apps/Deployment"), "scale", replicas=replicas) == expected


@pytest.mark.parametrize("replicas", ["", "-1", "3.5", "many", "٣", "9" * 10])
def test_scaling_refuses_what_is_no_number(replicas: str) -> None:
    with pytest.raises(ActionError, match="expected a number from 0 on"):
        changes(object_of("apps/StatefulSet"), "scale", replicas=replicas)


def test_a_missing_and_an_unknown_parameter_are_refused() -> None:
    with pytest.raises(ActionError, match="scale needs the parameter replicas"):
        changes(object_of("apps/Deployment"), "scale")
    with pytest.raises(ActionError, match="pause has no parameter replicas; it has none"):
        changes(object_of("apps/Deployment"), "pause", replicas="1")


@pytest.mark.parametrize(
    ("automated", "enabled"),
    [(None, True), ({}, False), ({"enabled": True}, False), ({"enabled": False}, True)],
)
def test_automated_sync_is_toggled(automated: Any, enabled: bool) -> None:  # noqa: FBT001
    app = object_of("argoproj.io/Application", {"syncPolicy": {"automated": automated}})

    assert patch(app, "toggle-auto-sync") == {
        "spec": {"syncPolicy": {"automated": {"enabled": enabled}}}
    }


STEPS = {"strategy": {"canary": {"steps": [{"pause": {}}, {"setWeight": 50}]}}}


def test_a_step_of_a_rollout_is_skipped_until_there_is_none() -> None:
    first = object_of("argoproj.io/Rollout", STEPS, {"currentStepIndex": 1})
    last = object_of("argoproj.io/Rollout", STEPS, {"currentStepIndex": 2})

    assert patch(first, "skip-current-step") == {
        "status": {"currentStepIndex": 2, "pauseConditions": None}
    }
    with pytest.raises(ActionError, match="no step left"):
        changes(last, "skip-current-step")


def test_a_rollout_is_promoted_by_old_and_new_controllers() -> None:
    new = object_of("argoproj.io/Rollout", STEPS, {"observedGeneration": "3"})
    old = object_of("argoproj.io/Rollout", STEPS, {"observedGeneration": "8f3a"})

    assert patch(new, "promote-full") == {"status": {"promoteFull": True}}
    assert patch(old, "promote-full") == {"status": {"abort": None, "currentStepIndex": 2}}


def test_a_job_is_terminated_once() -> None:
    condition = {"type": "SuccessCriteriaMet", "status": "False"}
    running = object_of("batch/Job", status={"conditions": [condition]})
    ended = object_of("batch/Job", status={"conditions": [{"type": "Failed", "status": "True"}]})
    (change,) = changes(running, "terminate")

    assert change.kind is ActionChangeKind.PATCH_STATUS
    before, added = change.content["status"]["conditions"]
    assert before == condition
    assert (added["type"], added["reason"]) == ("FailureTarget", "ManuallyTerminated")
    assert changes(ended, "terminate") == ()


def test_a_run_of_a_cron_job_is_its_own() -> None:
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {"template": {"spec": {}}},
    }
    (change,) = changes(object_of("batch/CronJob", {"jobTemplate": template}), "create-job")
    job = change.content

    assert change.kind is ActionChangeKind.CREATE
    assert (job["kind"], job["spec"]) == ("Job", template["spec"])
    assert job["metadata"]["name"] == "web-2611220930"
    assert job["metadata"]["labels"] == {"a": "b"}
    assert job["metadata"]["annotations"] == {
        "c": "d",
        "cronjob.kubernetes.io/instantiate": "manual",
    }
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("CronJob", "u", True)


def test_a_workflow_is_created_from_its_template() -> None:
    (change,) = changes(object_of("argoproj.io/WorkflowTemplate"), "create-workflow")
    workflow = change.content

    assert workflow["metadata"]["name"] == "web-202611220930"
    assert workflow["metadata"]["labels"] == {"workflows.argoproj.io/workflow-template": "web"}
    assert workflow["spec"] == {"workflowTemplateRef": {"name": "web"}}
    (owner,) = workflow["metadata"]["ownerReferences"]
    assert "controller" not in owner


def test_a_workflow_of_a_schedule_copies_its_spec_and_metadata() -> None:
    spec = {"workflowSpec": {"entrypoint": "x"}, "workflowMetadata": {"labels": {"a": "b"}}}
    cron = object_of("argoproj.io/CronWorkflow", spec)
    cron["metadata"]["labels"] = {"workflows.argoproj.io/controller-instanceid": "i"}
    (change,) = changes(cron, "create-workflow")

    assert change.content["spec"] == {"entrypoint": "x"}
    assert change.content["metadata"]["labels"] == {
        "a": "b",
        "workflows.argoproj.io/controller-instanceid": "i",
        "workflows.argoproj.io/cron-workflow": "web",
    }


POSTGRES = {"readyInstances": 3, "currentPrimary": "web-1", "instanceNames": ["web-1", "web-2"]}


@pytest.mark.parametrize("instance", ["any", "2", "web-2"])
def test_an_instance_of_postgres_becomes_the_primary(instance: str) -> None:
    cluster = object_of("postgresql.cnpg.io/Cluster", status=POSTGRES)
    status = patch(cluster, "promote", instance=instance)["status"]

    assert status["targetPrimary"] == "web-2"
    assert status["targetPrimaryTimestamp"] == TIME


@pytest.mark.parametrize(
    ("status", "instance"), [(POSTGRES, "1"), (POSTGRES, "9"), ({"readyInstances": 1}, "any")]
)
def test_no_other_instance_is_promoted(status: dict[str, Any], instance: str) -> None:
    with pytest.raises(ActionError):
        changes(
            object_of("postgresql.cnpg.io/Cluster", status=status), "promote", instance=instance
        )


@pytest.mark.parametrize(
    ("manifest", "disabled"),
    [
        (object_of("apps/Deployment"), {"resume"}),
        (object_of("apps/Deployment", {"paused": True}), {"pause"}),
        (object_of("batch/CronJob", {"suspend": True}), {"suspend"}),
        (
            object_of("kustomize.toolkit.fluxcd.io/Kustomization", {"suspend": True}),
            {"reconcile", "suspend"},
        ),
        (object_of("external-secrets.io/ExternalSecret", {"refreshInterval": "0"}), {"refresh"}),
        (
            object_of(
                "external-secrets.io/ExternalSecret",
                {"refreshInterval": "0", "refreshPolicy": "OnChange"},
            ),
            set(),
        ),
        (object_of("argoproj.io/AnalysisRun", status={"phase": "Successful"}), {"terminate"}),
        (
            object_of("postgresql.cnpg.io/Cluster", annotations={CNPG: "disabled"}),
            {"suspend"},
        ),
        (object_of("promoter.argoproj.io/PullRequest", {"state": "closed"}), {"merge"}),
        (object_of("argoproj.io/Rollout"), {"resume", "retry", "skip-current-step"}),
    ],
)
def test_an_action_that_makes_no_sense_is_disabled(
    manifest: dict[str, Any], disabled: set[str]
) -> None:
    assert {one.name for one in offers(manifest) if one.disabled} == disabled
