"""An edit that came over the link shows nothing that was hidden before."""

from __future__ import annotations

from typing import Any, cast

import pytest

from agent.bridge.tasks.executors.edited_objects import unmasked
from agent.bridge.tasks.live_objects.changes import edited
from agent.bridge.tasks.live_objects.task_object import TaskObject
from agent.bridge.tasks.task_context import TaskFailedError
from agent.kube.errors import ConflictError
from handlers.manifest import access
from handlers.ports import ApplyRefusedError
from handlers.report.known_secrets import KnownSecrets
from handlers.report.redaction import Redaction

GATE = Redaction(salt=b"salt", known=KnownSecrets(b"salt"))
NONE = cast("Any", None)


def deployment(*args: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"template": {"spec": {"containers": [{"name": "web", "args": list(args)}]}}},
    }


def found(manifest: dict[str, Any]) -> TaskObject:
    return TaskObject(
        app=NONE,
        session=NONE,
        client=NONE,
        writer=NONE,
        redaction=GATE,
        tracking_label="",
        key=access.key(manifest),
        path="",
        manifest=manifest,
        owned=(),
    )


LIVE = deployment("--password", "correcthorse")
MASK = GATE.manifest(LIVE)["spec"]["template"]["spec"]["containers"][0]["args"][1]


@pytest.mark.parametrize("args", [("--verbose", MASK), (MASK,), (MASK, "--password")])
def test_an_edit_shows_no_hidden_value(args: tuple[str, ...]) -> None:
    with pytest.raises(TaskFailedError, match=r"args\[\d\]: the change would show") as refused:
        edited(found(LIVE), {"spec": deployment(*args)["spec"]}, GATE)
    assert refused.value.code == "invalid"
    assert "correcthorse" not in str(refused.value)


def test_an_edit_beside_a_hidden_value_is_made() -> None:
    patch = {"spec": deployment("--password", MASK, "--verbose")["spec"]}
    after = edited(found(LIVE), patch, GATE).after
    assert after == deployment("--password", "correcthorse", "--verbose")


def test_a_refused_write_quotes_no_hidden_value() -> None:
    written = deployment("--password", "of-the-<patch>")
    text = r'args: Invalid value: ["correcthorse", "of-the-\u003cpatch\u003e", "--password"]: no'
    refused = ConflictError(text, code=409, permanent=False)
    error = found(LIVE).explained(refused, written)
    assert error.message == 'args: Invalid value: ["(hidden)", "(hidden)", "--password"]: no'
    assert (type(error), error.code, error.permanent) == (ConflictError, 409, False)


def test_a_refusal_that_compares_the_object_is_cut_where_values_are_hidden() -> None:
    refused = ApplyRefusedError("spec: Forbidden: a\n  - correct\n  + horse", code=422)
    assert "horse" not in found(LIVE).explained(refused).message
    assert "spec: Forbidden: a (the rest quotes" in found(LIVE).explained(refused).message
    assert found(deployment("-v")).explained(refused).message == refused.message


def application(name: str, value: str) -> dict[str, Any]:
    helm = {"parameters": [{"name": name, "value": value}]}
    source = {"repoURL": "https://git.example/shop", "path": ".", "helm": helm}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "web", "namespace": "argocd"},
        "spec": {"project": "default", "source": source, "destination": {"namespace": "shop"}},
    }


def test_a_put_shows_no_hidden_value() -> None:
    live = application("db.password", "correcthorse")
    shown = GATE.manifest(live)["spec"]["source"]["helm"]["parameters"][0]["value"]
    assert unmasked(application("db.password", shown), live, GATE) == live
    with pytest.raises(TaskFailedError, match="parameters"):
        unmasked(application("greeting", shown), live, GATE)
