"""Whose objects the owner's policy holds for, and which of them it does not permit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bus.identity import ResourceKey
from handlers.application.application import Application, AppProject, Metadata
from handlers.application.denials import NOT_PERMITTED
from handlers.application.destination import DestinationCluster, RegisteredCluster
from handlers.application.spec import Operation
from handlers.control_plane.governance import FROM_CONTROL_PLANE, GOVERNED, named
from handlers.manifest.tracking_method import INSTANCE_LABEL, Tracking, TrackingMethod
from tests.unit.handlers.application.builders import application, project
from tests.unit.handlers.control_plane.builders import governance, served
from tests.unit.handlers.one_cluster import OneCluster, cluster_of_kinds

MARK = {"annotations": {GOVERNED: ""}}
INSIDE = ResourceKey("", "ConfigMap", "shop", "a")
OUTSIDE = ResourceKey("", "ConfigMap", "kube-system", "pwned")
CLUSTER_ROLE = ResourceKey("rbac.authorization.k8s.io", "ClusterRole", "", "pwned")
POLICY = ResourceKey("", "ConfigMap", "argocd", "gitops-agent-limits")
KEYS = ResourceKey("", "Secret", "argocd", "gitops-agent-link")
COMMAND_KEY = ResourceKey("", "Secret", "argocd", "gitops-agent-keys")
CONTROL = ResourceKey("", "Namespace", "", "argocd")
CHILD = ResourceKey("argoproj.io", "Application", "argocd", "child")
PROJECT = ResourceKey("argoproj.io", "AppProject", "argocd", "team")
EVERYTHING = {"clusterScoped": "true"}


def child(parent: str = "web") -> Application:
    tracked = f"{parent}:argoproj.io/Application:argocd/child"
    notes = {"argocd.argoproj.io/tracking-id": tracked}
    return application(metadata={"name": "child", "annotations": notes})


def marked_project() -> AppProject:
    return AppProject(
        metadata=Metadata(name="default", namespace="argocd", annotations={GOVERNED: ""}),
        spec=project().spec,
    )


def test_an_application_that_a_person_made_goes_where_its_project_lets_it() -> None:
    app = application()
    assert governance({"namespaces": "shop"}, apps=(app,)).denials(app, (OUTSIDE,)) == {}


@pytest.mark.parametrize("key", [OUTSIDE, CLUSTER_ROLE])
def test_what_came_over_the_link_stays_within_the_policy(key: ResourceKey) -> None:
    app = application(metadata=MARK)
    found = governance({"namespaces": "shop"}, apps=(app,)).denials(app, (INSIDE, key))
    assert set(found) == {key}
    assert NOT_PERMITTED in found[key]


def test_the_marks_value_does_not_matter() -> None:
    app = application(metadata={"annotations": {GOVERNED: "false"}})
    assert governance({}, apps=(app,)).governs(app)


def test_what_a_governed_application_deploys_is_governed() -> None:
    parent = application(metadata=MARK)
    assert governance({}, apps=(parent, child())).governs(child())
    assert not governance({}, apps=(application(), child())).governs(child())


def test_a_child_that_is_tracked_by_its_label_is_governed_too() -> None:
    parent = application(metadata=MARK)
    labelled = application(metadata={"name": "child", "labels": {INSTANCE_LABEL: "web"}})
    by_label = replace(
        governance({}, apps=(parent, labelled)),
        tracking=lambda: Tracking(method=TrackingMethod.LABEL),
    )
    assert by_label.governs(labelled)
    assert not governance({}, apps=(parent, labelled)).governs(labelled)


def test_applications_of_a_governed_project_are_governed() -> None:
    app = application()
    assert governance({}, apps=(app,), projects=(marked_project(),)).governs(app)


def test_a_project_is_governed_by_its_own_mark_or_that_of_what_deploys_it() -> None:
    parent = application(metadata=MARK)
    notes = {"argocd.argoproj.io/tracking-id": "web:argoproj.io/AppProject:argocd/team"}
    deployed = AppProject(
        metadata=Metadata(name="team", namespace="argocd", annotations=notes), spec=project().spec
    )
    policy = governance({}, apps=(parent,), projects=(deployed,))
    assert policy.governs_project(marked_project())
    assert policy.governs_project(deployed)
    assert not governance({}, apps=(application(),)).governs_project(deployed)


def test_a_circle_of_applications_is_governed() -> None:
    def of(name: str, parent: str) -> Application:
        notes = {
            "argocd.argoproj.io/tracking-id": f"{parent}:argoproj.io/Application:argocd/{name}"
        }
        return application(metadata={"name": name, "annotations": notes})

    one, other = of("one", "other"), of("other", "one")
    assert governance({}, apps=(one, other)).governs(one)


@pytest.mark.parametrize("key", [POLICY, KEYS, CONTROL, CHILD, PROJECT])
@pytest.mark.parametrize("mark", [{}, MARK], ids=["a person's", "governed"])
def test_the_agents_own_namespace_is_no_destination(key: ResourceKey, mark: dict[str, Any]) -> None:
    app = application(metadata=mark)
    found = governance(EVERYTHING, apps=(app,)).denials(app, (key,))
    assert "GITOPS_CONTROL_NAMESPACE_KINDS" in found[key]


@pytest.mark.parametrize("key", [POLICY, KEYS, COMMAND_KEY])
def test_policy_and_keys_are_out_of_reach_of_git_whatever_is_set(key: ResourceKey) -> None:
    app = application()
    assert governance(EVERYTHING, apps=(app,), control_kinds=("*",)).denials(app, (key,))


def test_the_agents_owner_may_allow_apps_of_apps() -> None:
    kinds = ("Application", "AppProject")
    person, governed = application(), application(metadata=MARK)
    other = ResourceKey("", "ConfigMap", "argocd", "other")
    allowed = governance({}, apps=(person,), control_kinds=kinds)
    assert set(allowed.denials(person, (CHILD, PROJECT, other))) == {other}
    held = governance({}, apps=(governed,), control_kinds=kinds)
    assert set(held.denials(governed, (CHILD, PROJECT, other))) == {other}


def test_what_a_governed_application_brings_carries_the_mark() -> None:
    app = application(metadata=MARK)
    body = {"metadata": {"name": "child", "annotations": {"a": "b"}}}
    sent = governance({}, apps=(app,)).sent(app, CHILD, body)
    assert set(sent["metadata"]["annotations"]) == {"a", GOVERNED}
    assert governance({}, apps=(app,)).sent(app, INSIDE, body) is body


def test_git_does_not_take_a_mark_away() -> None:
    person, known = application(), application(metadata={"name": "child", **MARK})
    body = {"metadata": {"name": "child"}}
    sent = governance({}, apps=(person, known)).sent(person, CHILD, body)
    assert GOVERNED in sent["metadata"]["annotations"]
    assert governance({}, apps=(person, child())).sent(person, CHILD, body) is body


def test_git_writes_no_status_of_an_application() -> None:
    status = {"operationState": {"phase": "Terminating"}}
    body = {"kind": "Application", "metadata": {"name": "child"}, "spec": {}, "status": status}
    sent = governance({}, apps=()).sent(child(), CHILD, body)
    assert sent == {name: value for name, value in body.items() if name != "status"}
    assert governance({}, apps=()).sent(child(), INSIDE, body) is body


def test_a_namespace_is_made_for_the_control_plane_only_where_it_may_write() -> None:
    app, op = application(), Operation(info=({"name": FROM_CONTROL_PLANE, "value": "true"},))
    held = governance({"namespaces": "shop"}, apps=(app,))
    assert held.creates_namespace(app, None, "elsewhere")
    assert held.creates_namespace(app, op, "shop")
    assert not held.creates_namespace(app, op, "elsewhere")


def test_without_a_config_map_nothing_that_came_over_the_link_is_written() -> None:
    app = application(metadata=MARK)
    assert set(governance(None, apps=(app,)).denials(app, (INSIDE,))) == {INSIDE}


def test_many_denials_are_named_as_far_as_one_reads() -> None:
    keys = [ResourceKey("", "ConfigMap", "x", f"c{number}") for number in range(9)]
    text = named(governance({"namespaces": "shop"}).control_plane_denials(application(), keys))
    assert "ConfigMap x/c0" in text
    assert text.endswith("and 4 more")


def another(**session: Any) -> OneCluster:
    """A cluster that is not the agent's own, as its UID shows."""
    cluster = DestinationCluster(server="https://prod:6443", name="prod")
    found = {"registered": RegisteredCluster(cluster=cluster), "may_be_own": False, **session}
    return cluster_of_kinds(served, **found)


def test_what_came_over_the_link_reaches_another_cluster_only_where_its_server_is_named() -> None:
    app = application(metadata=MARK)
    held = governance(EVERYTHING, apps=(app,), clusters=another())
    assert set(held.denials(app, (INSIDE,))) == {INSIDE}
    by_name = governance({**EVERYTHING, "clusters": "prod"}, apps=(app,), clusters=another())
    assert set(by_name.denials(app, (INSIDE,))) == {INSIDE}
    named_it = {**EVERYTHING, "clusters": "https://prod:*"}
    assert not governance(named_it, apps=(app,), clusters=another()).denials(app, (INSIDE,))


def test_the_control_namespace_is_out_of_reach_wherever_the_cluster_may_be_the_own_one() -> None:
    app, key = application(), ResourceKey("", "ConfigMap", "argocd", "x")
    assert not governance(EVERYTHING, apps=(app,), clusters=another()).denials(app, (key,))
    alias = another(may_be_own=True)
    assert set(governance(EVERYTHING, apps=(app,), clusters=alias).denials(app, (key,))) == {key}


def test_an_operation_over_the_link_makes_no_namespace_in_a_cluster_that_is_not_named() -> None:
    app = application()
    assert governance(EVERYTHING, apps=(app,)).may_create_namespace(app, "shop")
    elsewhere = governance(EVERYTHING, apps=(app,), clusters=another())
    assert not elsewhere.may_create_namespace(app, "shop")


def test_a_commit_gives_no_override_of_a_sync_window() -> None:
    info = [{"name": "overrideWindow", "value": "mine"}, {"name": "why", "value": "first"}]
    body = {"spec": {}, "operation": {"sync": {"prune": True}, "info": info}}
    sent = governance({}, apps=()).sent(child(), CHILD, body)
    assert sent["operation"] == {"sync": {"prune": True}, "info": info[1:]}
    assert governance({}, apps=()).sent(child(), CHILD, sent) is sent
