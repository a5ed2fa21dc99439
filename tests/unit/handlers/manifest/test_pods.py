"""What of a pod is counted."""

from typing import Any

import pytest

from handlers.manifest.pods import PodState, pod_state

SPEC = {
    "initContainers": [{"name": "init", "image": "init:1"}],
    "containers": [{"name": "main", "image": "web:1"}, {"name": "side", "image": "side:1"}],
}
READY = {"type": "Ready", "status": "True"}


def pod(**status: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "spec": SPEC, "status": status}


def test_a_pod_that_runs_is_told_with_its_images_readiness_and_start() -> None:
    found = pod_state(pod(phase="Running", conditions=[READY], startTime="2026-11-21T08:00:00Z"))
    assert found == PodState(
        images=("init:1", "side:1", "web:1"), ready=True, started_at="2026-11-21T08:00:00Z"
    )


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Pending"},
        {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]},
        {"phase": "Running", "conditions": "nonsense"},
        {},
    ],
)
def test_one_that_is_about_to_run_is_not_ready(status: dict[str, Any]) -> None:
    found = pod_state(pod(**status))
    assert found is not None
    assert not found.ready


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_one_that_has_finished_is_no_instance(phase: str) -> None:
    assert pod_state(pod(phase=phase, conditions=[READY])) is None


@pytest.mark.parametrize(
    "other",
    [{"kind": "Deployment", "apiVersion": "apps/v1"}, {"kind": "Pod", "apiVersion": "x/v1"}],
)
def test_what_is_no_pod_is_none(other: dict[str, str]) -> None:
    assert pod_state({**pod(phase="Running"), **other}) is None
