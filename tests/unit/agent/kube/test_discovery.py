from __future__ import annotations

from typing import Any

from agent.kube.discovery import Discovered, aggregated_kinds, group_versions, listed_kinds
from handlers.manifest.kinds import KindInfo

DEPLOYMENT = KindInfo(
    group="apps",
    version="v1",
    kind="Deployment",
    plural="deployments",
    namespaced=True,
    verbs=("list", "watch"),
)
OLDER = KindInfo(
    group="apps",
    version="v1beta1",
    kind="Deployment",
    plural="deployments",
    namespaced=True,
)
NAMESPACE = KindInfo(
    group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False
)


def test_the_aggregated_document_names_all_kinds() -> None:
    document = {
        "kind": "APIGroupDiscoveryList",
        "items": [
            {
                "metadata": {"name": "apps"},
                "versions": [
                    {"version": "v1", "resources": [resource("Namespaced")]},
                    {"version": "v1beta1", "resources": []},
                ],
            }
        ],
    }

    assert list(aggregated_kinds(document)) == [DEPLOYMENT]


def resource(scope: str) -> dict[str, Any]:
    return {
        "resource": "deployments",
        "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
        "scope": scope,
        "verbs": ["list", "watch"],
        "subresources": [{"subresource": "scale"}],
    }


def test_a_group_is_asked_in_the_order_that_its_server_prefers() -> None:
    groups = {
        "kind": "APIGroupList",
        "groups": [
            {
                "versions": [
                    {"groupVersion": "apps/v1beta1"},
                    {"groupVersion": "apps/v1"},
                ],
                "preferredVersion": {"groupVersion": "apps/v1"},
            }
        ],
    }

    assert group_versions(groups) == ("apps/v1", "apps/v1beta1")
    assert group_versions({"kind": "APIVersions", "versions": ["v1"]}) == ("v1",)


def test_the_list_of_one_group_leaves_subresources_out() -> None:
    document = {
        "kind": "APIResourceList",
        "groupVersion": "apps/v1",
        "resources": [
            {
                "name": "deployments",
                "kind": "Deployment",
                "namespaced": True,
                "verbs": ["list", "watch"],
            },
            {"name": "deployments/scale", "kind": "Scale", "namespaced": True},
        ],
    }

    assert list(listed_kinds(document)) == [DEPLOYMENT]


def test_the_first_version_of_a_kind_is_the_preferred_one() -> None:
    discovered = Discovered(served=(DEPLOYMENT, OLDER, NAMESPACE))

    assert discovered.preferred() == {
        ("apps", "Deployment"): DEPLOYMENT,
        ("", "Namespace"): NAMESPACE,
    }


def test_api_versions_are_spelled_as_helm_asks_for_them() -> None:
    discovered = Discovered(served=(DEPLOYMENT, OLDER, NAMESPACE))

    assert discovered.api_versions() == (
        "apps/v1",
        "apps/v1/Deployment",
        "apps/v1beta1",
        "apps/v1beta1/Deployment",
        "v1",
        "v1/Namespace",
    )
