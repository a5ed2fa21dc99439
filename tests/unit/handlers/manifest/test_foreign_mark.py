from __future__ import annotations

from typing import Any

import pytest

from handlers.manifest.foreign_mark import foreign_mark
from handlers.manifest.tracking import TRACKING_ID
from handlers.manifest.tracking_method import INSTALLATION_ID, INSTANCE_LABEL, Tracking

OURS = Tracking(installation_id="ours")
OWN_ID = {TRACKING_ID: "gone:/ConfigMap:shop/site"}


SECOND = "argocd.argoproj.io/instance"


def labelled(manager: str, key: str = INSTANCE_LABEL) -> dict[str, Any]:
    fields = {"f:metadata": {"f:labels": {f"f:{key}": {}}}}
    entry = {"manager": manager, "operation": "Update", "fieldsV1": fields}
    return {"labels": {key: "shop"}, "managedFields": [entry]}


@pytest.mark.parametrize(
    ("metadata", "tracking", "mark"),
    [
        ({}, Tracking(), ""),
        ({"annotations": OWN_ID}, Tracking(), "tracking id of the application gone"),
        ({"annotations": OWN_ID}, OURS, "tracking id of the application gone"),
        ({"annotations": {**OWN_ID, INSTALLATION_ID: "ours"}}, OURS, ""),
        ({"annotations": {INSTALLATION_ID: "other"}}, OURS, f"annotation {INSTALLATION_ID}: other"),
        (
            {"annotations": {**OWN_ID, INSTALLATION_ID: "other"}},
            Tracking(),
            f"annotation {INSTALLATION_ID}: other",
        ),
        ({"annotations": {TRACKING_ID: "shop:/ConfigMap:shop/another"}}, Tracking(), ""),
        (labelled("helm"), Tracking(), ""),
        (labelled("argocd-controller"), Tracking(), f"label {INSTANCE_LABEL}: shop"),
        (labelled("argocd-controller", SECOND), Tracking(), f"label {SECOND}: shop"),
    ],
    ids=[
        "no mark",
        "tracking id",
        "tracking id without the installation id",
        "an application of this installation that is gone",
        "installation id alone",
        "installation id where this one has none",
        "a copied tracking id",
        "the label of a chart",
        "the label of Argo CD",
        "the label of a second Argo CD",
    ],
)
def test_a_mark_that_may_be_anothers_is_named(
    metadata: dict[str, Any], tracking: Tracking, mark: str
) -> None:
    live = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "site", "namespace": "shop", **metadata},
    }
    assert foreign_mark(live, tracking) == mark
