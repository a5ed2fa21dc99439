"""Definitions, images and what is not looked at."""

import pytest

from handlers.manifest.exclusions import ResourceFilter, ResourceRule
from handlers.manifest.kinds import GroupKind, KindInfo, Kinds, defined_by
from handlers.manifest.pods import images

POD_SPEC = {
    "initContainers": [{"image": "init:1"}],
    "containers": [{"image": "web:2"}, {"image": "init:1"}, {"name": "none"}],
}


def crd(scope: str) -> dict[str, object]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.com",
            "scope": scope,
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": True}, {"name": "v1beta1", "served": False}],
        },
    }


@pytest.mark.parametrize(("scope", "namespaced"), [("Namespaced", True), ("Cluster", False)])
def test_definition_tells_its_served_versions_and_scope(scope: str, *, namespaced: bool) -> None:
    expected = KindInfo(
        group="example.com", version="v1", kind="Thing", plural="things", namespaced=namespaced
    )
    assert defined_by(crd(scope)) == (expected,)


def test_what_the_cluster_serves_wins_over_what_git_defines() -> None:
    (defined,) = defined_by(crd("Cluster"))
    (served,) = defined_by(crd("Namespaced"))
    assert Kinds([served]).plus([defined]).preferred(GroupKind("example.com", "Thing")) == served


@pytest.mark.parametrize(
    "manifest",
    [
        {"spec": POD_SPEC},
        {"spec": {"template": {"spec": POD_SPEC}}},
        {"spec": {"jobTemplate": {"spec": {"template": {"spec": POD_SPEC}}}}},
    ],
    ids=["pod", "workload", "cronjob"],
)
def test_images_are_found_once_and_sorted(manifest: dict[str, object]) -> None:
    assert images(manifest) == ("init:1", "web:2")


@pytest.mark.parametrize(
    ("group", "kind", "excluded"),
    [
        ("", "Event", True),
        ("events.k8s.io", "Event", True),
        ("metrics.k8s.io", "PodMetrics", True),
        ("coordination.k8s.io", "Lease", True),
        ("", "Pod", False),
        ("apps", "Deployment", False),
    ],
)
def test_argo_cds_own_exclusions(group: str, kind: str, *, excluded: bool) -> None:
    assert ResourceFilter().excludes(group, kind) is excluded


def test_exclusion_globs_and_clusters() -> None:
    kinds = ("CiliumIdentity",)
    rule = ResourceRule(api_groups=("*.cilium.io",), kinds=kinds, clusters=("https://a*",))
    chosen = ResourceFilter(exclusions=(rule,))
    assert chosen.excludes("x.cilium.io", "CiliumIdentity", "https://a.example")
    assert not chosen.excludes("x.cilium.io", "CiliumIdentity", "https://b.example")
    assert not chosen.excludes("x.cilium.io", "Other", "https://a.example")


def test_inclusions_exclude_the_rest() -> None:
    chosen = ResourceFilter(inclusions=(ResourceRule(api_groups=("apps",)),))
    assert not chosen.excludes("apps", "Deployment")
    assert chosen.excludes("", "Pod")


@pytest.mark.parametrize(("kinds", "excluded"), [(("Cilium*",), False), (("*",), True)])
def test_kinds_are_exact_or_all(kinds: tuple[str, ...], *, excluded: bool) -> None:
    chosen = ResourceFilter(exclusions=(ResourceRule(api_groups=("cilium.io",), kinds=kinds),))
    assert chosen.excludes("cilium.io", "CiliumIdentity") is excluded


def test_inclusions_of_another_cluster_exclude_nothing_here() -> None:
    rule = ResourceRule(api_groups=("apps",), clusters=("https://b*",))
    assert not ResourceFilter(inclusions=(rule,)).excludes("", "Pod", "https://a.example")
