"""Where Applications are followed, and which projects they may use from there."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agent.store.projects import Projects
from bus.identity import ResourceKey
from handlers.application.argo_settings import read_settings
from handlers.application.denials import denials
from handlers.application.project import admits
from handlers.application.source_namespaces import KEY, read_source_namespaces
from handlers.application.validate import problems
from tests.unit.handlers.application.builders import application, project


@pytest.mark.parametrize(
    ("written", "follows", "others"),
    [
        ("", "", "team argocd"),
        ("team, shop-*", "team shop-a", "teams ashop- bank"),
        ("/^(team|bank)-.*$/", "team-a bank-", "team a-team-b"),
        ("/team/", "team a-team-b", "tea"),
        ("*", "team kube-system", ""),
        ("/(/, team", "team", "( bank"),
    ],
)
def test_globs_and_expressions_name_namespaces(written: str, follows: str, others: str) -> None:
    found, _ = read_source_namespaces(written)
    assert all(map(found.follows, follows.split()))
    assert not any(map(found.follows, others.split()))


def test_names_alone_need_no_look_at_the_whole_cluster() -> None:
    assert read_source_namespaces("team,bank")[0].names == ("team", "bank")
    assert read_source_namespaces("team,ban?")[0].names is None
    assert read_source_namespaces("/team/")[0].names is None


def test_an_expression_that_is_none_is_told() -> None:
    settings = read_settings({}, {KEY: "/(/"})
    (found,) = settings.unsupported
    assert "/(/" in found.message
    assert settings.source_namespaces.patterns == ()


@pytest.mark.parametrize(
    ("rules", "admitted"),
    [([], False), (["bank"], False), (["te*"], True), (["/^team$/"], True), (["/(/"], False)],
    ids=str,
)
def test_a_project_is_used_from_the_namespaces_that_it_lists(
    rules: list[str], *, admitted: bool
) -> None:
    app = application(metadata={"namespace": "team"})
    listing = project({"sourceNamespaces": rules})
    listing = replace(listing, metadata=replace(listing.metadata, namespace="argocd"))
    key = ResourceKey("", "ConfigMap", "shop", "a")
    assert admits(listing, "team") is admitted
    assert (denials(app, listing, (key,)) == {}) is admitted
    assert (problems(app, listing) == ()) is admitted


def test_the_project_default_that_nobody_wrote_admits_the_control_namespace_only() -> None:
    default = Projects(namespace="argocd").get("default")
    assert default is not None
    assert admits(default, "argocd")
    assert not admits(default, "team")
