"""Rules of global projects hold in the projects that their selector chooses."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handlers.application.application import AppProject, read_project
from handlers.application.denials import ProjectKind, denial
from handlers.application.global_projects import GlobalProject, with_global_projects
from handlers.application.label_selector import LabelOperator, LabelRequirement, LabelSelector
from handlers.application.project import destination_permitted, permitted, source_permitted
from handlers.application.spec import Destination, Source
from handlers.application.unsupported_fields import unsupported
from tests.unit.handlers.application.builders import SERVER, application

HERE = Destination(server=SERVER, namespace="shop")
SECRET = ProjectKind("", "Secret", namespaced=True)
CONFIG_MAP = ProjectKind("", "ConfigMap", namespaced=True)
NODE = ProjectKind("", "Node", namespaced=False)
PERMISSIVE = {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]}


def project(name: str, spec: dict[str, Any], **labels: str) -> AppProject:
    metadata = {"name": name, "namespace": "argocd", "labels": labels}
    return read_project(msgspec.json.encode({"metadata": metadata, "spec": spec}))


def effective(own: AppProject, *shared: AppProject, labels: str = "") -> AppProject:
    """`own` with these projects as its global ones."""
    selector = LabelSelector(match_labels={labels: "yes"} if labels else {})
    entries = [
        GlobalProject(project_name=one.metadata.name, label_selector=selector) for one in shared
    ]
    return with_global_projects(own, entries, {one.metadata.name: one for one in shared}.get)


def kind(group: str, kind: str) -> dict[str, str]:
    return {"group": group, "kind": kind}


def test_what_a_global_project_denies_is_denied() -> None:
    org = project("org", {"namespaceResourceBlacklist": [kind("", "Secret")]})
    found = effective(project("shop", PERMISSIVE), org)
    assert not permitted(found, SECRET, name="a", destination=HERE)
    assert permitted(found, CONFIG_MAP, name="a", destination=HERE)


def test_a_denial_names_the_projects_whose_rules_are_part_of_it() -> None:
    org = project("org", {"namespaceResourceBlacklist": [kind("", "Secret")]})
    found = effective(project("shop", PERMISSIVE), org)
    why = denial(found, SECRET, name="a", destination=HERE)
    assert "by the AppProject 'shop' with its global 'org'" in why
    assert "remove it from spec.namespaceResourceBlacklist" in why


def test_a_global_project_permits_what_its_own_does_not() -> None:
    org = project("org", PERMISSIVE | {"clusterResourceWhitelist": [kind("", "Node")]})
    found = effective(project("shop", {}), org)
    assert source_permitted(found, Source(repo_url="https://git.example/shop"))
    assert destination_permitted(found, HERE)
    assert permitted(found, NODE, name="a", destination=HERE)


def test_a_list_of_permitted_kinds_restricts_a_project_that_has_none() -> None:
    """As in Argo CD, where it surprises; a list that is absent in both permits everything."""
    org = project("org", {"namespaceResourceWhitelist": [kind("", "ConfigMap")]})
    found = effective(project("shop", PERMISSIVE), org)
    assert permitted(found, CONFIG_MAP, name="a", destination=HERE)
    assert not permitted(found, SECRET, name="a", destination=HERE)
    assert permitted(effective(project("shop", PERMISSIVE)), SECRET, name="a", destination=HERE)


def test_windows_and_accounts_add_up_and_the_rest_does_not() -> None:
    window = {"kind": "deny", "schedule": "* * * * *", "duration": "1h"}
    account = {"server": "*", "namespace": "*", "defaultServiceAccount": "deployer"}
    org = project(
        "org",
        {
            "syncWindows": [window],
            "destinationServiceAccounts": [account],
            "sourceNamespaces": ["team-a"],
            "orphanedResources": {"warn": True},
            "roles": [{"name": "admin"}],
        },
    )
    spec = effective(project("shop", {"syncWindows": [window]}), org).spec
    assert len(spec.sync_windows) == 2
    assert spec.destination_service_accounts == (account,)
    assert (spec.source_namespaces, spec.orphaned_resources, spec.roles) == ((), None, ())


def test_labels_choose_and_nobody_is_global_for_himself() -> None:
    org = project("org", PERMISSIVE, prod="yes")
    assert effective(project("shop", {}, prod="yes"), org, labels="prod").spec.source_repos
    assert not effective(project("shop", {}), org, labels="prod").spec.source_repos
    assert effective(org, org, labels="prod").spec.source_repos == ("*",)


def test_what_is_global_for_a_global_project_does_not_count() -> None:
    """Each list is added once, whatever the entries say about each other."""
    one, two = project("one", {"sourceRepos": ["1"]}), project("two", {"sourceRepos": ["2"]})
    found = effective(project("shop", {}), one, two)
    assert found.spec.source_repos == ("1", "2")
    assert effective(one, one, two).spec.source_repos == ("1", "2")


def test_a_global_project_that_does_not_exist_holds_automated_syncs() -> None:
    entries = [GlobalProject(project_name="org")]
    found = with_global_projects(project("shop", PERMISSIVE), entries, lambda _: None)
    (problem,) = unsupported(application(), found)
    assert problem.harmful
    assert "globalProjects of argocd-cm: org" in problem.field


OPERATORS = [
    ("In", ["a", "b"], {"x": "a"}, {"x": "c"}),
    ("NotIn", ["a"], {"x": "c"}, {"x": "a"}),
    ("NotIn", ["a"], {}, {"x": "a"}),
    ("Exists", [], {"x": ""}, {"y": "a"}),
    ("DoesNotExist", [], {"y": "a"}, {"x": ""}),
]


@pytest.mark.parametrize(("operator", "values", "chosen", "left"), OPERATORS)
def test_an_expression_is_that_of_kubernetes(
    operator: str, values: list[str], chosen: dict[str, str], left: dict[str, str]
) -> None:
    one = LabelRequirement(key="x", operator=LabelOperator(operator), values=tuple(values))
    selector = LabelSelector(match_expressions=(one,))
    assert selector.selects(chosen)
    assert not selector.selects(left)


@pytest.mark.parametrize(("operator", "values"), [("In", []), ("Exists", ["a"])])
def test_an_expression_without_sense_is_refused(operator: str, values: list[str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"key": "x", "operator": operator, "values": values}, LabelRequirement)
