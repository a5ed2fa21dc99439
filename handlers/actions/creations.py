"""Actions that create an object from another: a run of a schedule, a workflow of a template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handlers.actions.action import ActionCall, Changes, ResourceAction, created
from handlers.manifest.access import (
    Manifest,
    api_version,
    kind,
    mapping,
    name,
    namespace,
    text,
    uid,
)

_INSTANCE = "workflows.argoproj.io/controller-instanceid"
_LONGEST = 63
"""A Job's name becomes a label of its pods."""


def _job(cron: Manifest, call: ActionCall) -> Changes:
    template = mapping(cron, "spec", "jobTemplate")
    metadata = mapping(template, "metadata")
    written = {**mapping(metadata, "annotations"), "cronjob.kubernetes.io/instantiate": "manual"}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": _named(cron, call.now.strftime("%y%m%d%H%M")),
            "namespace": namespace(cron),
            "labels": {**mapping(metadata, "labels")},
            "annotations": written,
            "ownerReferences": [{**_owner(cron), "blockOwnerDeletion": True, "controller": True}],
        },
        "spec": {**mapping(template, "spec")},
    }
    return created(job)


def _of_cron(cron: Manifest, call: ActionCall) -> Changes:
    metadata = mapping(cron, "spec", "workflowMetadata")
    instance = text(cron, "metadata", "labels", _INSTANCE)
    labels = {
        **mapping(metadata, "labels"),
        **({_INSTANCE: instance} if instance else {}),
        "workflows.argoproj.io/cron-workflow": name(cron),
    }
    spec = {**mapping(cron, "spec", "workflowSpec")}
    return created(_workflow(cron, call, labels, spec, {**mapping(metadata, "annotations")}))


def _of_template(template: Manifest, call: ActionCall) -> Changes:
    labels = {"workflows.argoproj.io/workflow-template": name(template)}
    spec = {"workflowTemplateRef": {"name": name(template)}}
    return created(_workflow(template, call, labels, spec, {}))


def _workflow(
    source: Manifest,
    call: ActionCall,
    labels: Mapping[str, str],
    spec: Mapping[str, Any],
    annotations: Mapping[str, str],
) -> Mapping[str, Any]:
    return {
        "apiVersion": api_version(source),
        "kind": "Workflow",
        "metadata": {
            "name": _named(source, call.now.strftime("%Y%m%d%H%M")),
            "namespace": namespace(source),
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [_owner(source)],
        },
        "spec": spec,
    }


def _named(source: Manifest, suffix: str) -> str:
    return f"{name(source)[: _LONGEST - len(suffix) - 1]}-{suffix}"


def _owner(source: Manifest) -> dict[str, Any]:
    return {
        "apiVersion": api_version(source),
        "kind": kind(source),
        "name": name(source),
        "uid": uid(source),
    }


ACTIONS: Mapping[str, Mapping[str, tuple[ResourceAction, ...]]] = {
    "batch": {"CronJob": (ResourceAction(name="create-job", changes=_job),)},
    "argoproj.io": {
        "CronWorkflow": (ResourceAction(name="create-workflow", changes=_of_cron),),
        "WorkflowTemplate": (ResourceAction(name="create-workflow", changes=_of_template),),
    },
}
