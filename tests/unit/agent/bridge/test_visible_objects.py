"""Which objects of a namespace the control plane is shown besides those of an application."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from agent.bridge.reporting.object_nodes import VisibleObjects
from agent.kube.index import LiveIndex
from agent.kube.live import LiveCluster
from agent.kube.live_extent import LiveExtent
from agent.kube.summary import summarise
from handlers.application.destination import IN_CLUSTER
from tests.unit.agent.kube.kube_fixture import own_cluster
from tests.unit.handlers.application.builders import application, project
from tests.unit.handlers.control_plane.builders import governance


def secret(namespace: str) -> bytes:
    metadata = {"name": "left", "namespace": namespace, "uid": namespace, "resourceVersion": "1"}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})


def test_orphans_are_shown_of_a_namespace_that_the_project_permits() -> None:
    """Whoever may write an application may name any namespace in it."""
    index, client = LiveIndex("argocd"), cast("Any", None)
    live = LiveCluster(client, index, LiveExtent())
    for namespace in ("shop", "kube-system"):
        index.put(summarise(secret(namespace)))
    shop = {"server": IN_CLUSTER.server, "namespace": "shop"}
    rules = project({"orphanedResources": {}, "destinations": [shop]})
    objects = VisibleObjects(
        clusters=own_cluster(client, live),
        governance=governance({}, projects=(rules,)),
    )

    def shown(namespace: str) -> list[str]:
        there = {"server": IN_CLUSTER.server, "namespace": namespace}
        app = application({"project": rules.metadata.name, "destination": there})
        return [str(one.key) for one in objects.orphaned(app)]

    assert shown("shop") == ["/Secret/shop/left"]
    assert shown("kube-system") == []
