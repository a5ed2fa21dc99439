from __future__ import annotations

from typing import Any

import pytest

from handlers.application.address_pattern import matches
from handlers.application.project import (
    admits,
    destination_permitted,
    permitted,
    source_permitted,
)
from handlers.application.spec import Destination, Source
from handlers.manifest.kinds import KindInfo
from tests.unit.handlers.application.builders import REPO, SERVER, project

HERE = Destination(server=SERVER, namespace="shop")


def kind(name: str, group: str = "", *, namespaced: bool = True) -> KindInfo:
    return KindInfo(group=group, version="v1", kind=name, plural="", namespaced=namespaced)


@pytest.mark.parametrize(
    ("pattern", "text", "separator", "expected"),
    [
        ("*", "a/b", "", True),
        ("*", "a/b", "/", False),
        ("**", "a/b", "/", True),
        ("a/*", "a/b", "/", True),
        ("a/*", "a/b/c", "/", False),
        ("a?c", "abc", "", True),
        ("a?c", "a/c", "/", False),
        ("{a,b}-*", "b-1", "", True),
        ("{a,b}-*", "c-1", "", False),
        ("[a-c]x", "bx", "", True),
        ("[!a-c]x", "bx", "", False),
        ("a.b", "axb", "", False),
        ("{a", "{a", "", True),
        ("a,b", "a,b", "", True),
    ],
)
def test_globs(pattern: str, text: str, separator: str, expected: bool) -> None:  # noqa: FBT001  a table
    assert matches(pattern, text, separator) is expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (["*"], True),
        ([], False),
        (["https://git.example/*"], True),
        (["https://*"], False),
        (["https://**"], True),
        (["*", "!https://git.example/shop"], False),
        (["!https://git.example/other"], False),
        (["https://GIT.example:443/shop.git/"], True),
        (["https://GIT.example/Shop.git"], False),
        (["*", "!https://git.example/SHOP"], False),
        (["*", "!https://git.example:443//shop"], False),
        (["*", "!https://git.example./{shop,other}"], False),
    ],
    ids=str,
)
def test_source_rules(rules: list[str], expected: bool) -> None:  # noqa: FBT001  a table
    assert source_permitted(project({"sourceRepos": rules}), Source(repo_url=REPO)) is expected


EVIL = {
    "port": "https://github.com:443/evil/x",
    "slash": "https://github.com//evil/x",
    "dot": "https://github.com/./evil/x",
    "percent": "https://github.com/%65vil/x",
    "root's dot": "https://github.com./evil/x",
    "dot behind": "https://github.com/evil/x/.",
    "case of the host": "https://GitHub.com/evil/x",
    "case of the path": "https://github.com/Evil/x",
    "suffix": "https://github.com/evil/x.git",
    "user": "https://me@github.com/evil/x",
    "number": "https://github.com/acme/../evil/x",
    "encoded dots": "https://github.com/acme/%2e%2e/evil/x",
    "parameter": "https://github.com/evil;a/x",
}


@pytest.mark.parametrize("url", EVIL.values(), ids=EVIL)
@pytest.mark.parametrize("rule", ["!https://github.com/evil/*", "!https://GITHUB.com:443/evil/**"])
def test_a_denied_source_stays_denied_in_every_spelling(rule: str, url: str) -> None:
    assert not source_permitted(project({"sourceRepos": ["*", rule]}), Source(repo_url=url))


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/../evil/x",
        "https://github.com/acme/%2E./evil",
        "https://a/acme/%2f",
    ],
)
def test_an_allowance_of_everything_below_does_not_lead_out(url: str) -> None:
    rules = ["https://github.com/acme/**", "https://a/acme/**"]
    assert not source_permitted(project({"sourceRepos": rules}), Source(repo_url=url))


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("git@git.example:team/*", "ssh://git@git.example/team/app"),
        ("ssh://git.example/team/*", "git@git.example:team/app.git"),
        ("https://*.example/team/*", "https://git.example:443/team/app"),
        ("https://git.example/caf%c3%a9", "https://git.example/café"),
        ("https://git.example/[a-z]hop", "https://git.example/shop"),
        ("http{,s}://git.example/shop", "http://git.example/shop"),
        ("https://[2001:DB8::1]/**", "https://[2001:db8:0::1]/x"),
        ("https://**.example:443/*", "https://a.git.example/x"),
    ],
)
def test_rules_are_read_in_the_form_of_addresses(rule: str, url: str) -> None:
    assert source_permitted(project({"sourceRepos": [rule]}), Source(repo_url=url))


@pytest.mark.parametrize("scheme", ["", "oci://", "OCI://", "https://"])
@pytest.mark.parametrize(
    ("url", "chart"),
    [
        ("registry.example", "team-b/secret"),
        ("registry.example/team-b", "secret"),
        ("Registry.example:443/team-b/", "secret"),
        ("oci://registry.example/team-b/secret", ""),
        ("https://registry.example", "team-b/secret"),
        ("https://registry.example/team-b", "secret"),
    ],
)
def test_a_denied_place_of_a_registry_stays_denied_as_url_and_chart(
    scheme: str, url: str, chart: str
) -> None:
    """A Secret's `enableOCI` makes a registry of an HTTP address, so both are judged."""
    rules = ["*", f"!{scheme}registry.example/team-b/*"]
    denied = Source(repo_url=url, chart=chart)
    other = Source(repo_url=url.replace("team-b", "team-a"), chart=chart.replace("-b", "-a"))
    of_scheme = project({"sourceRepos": rules})

    assert source_permitted(of_scheme, other)
    if scheme != "https://" or url.startswith("https://"):
        assert not source_permitted(of_scheme, denied)


def test_an_allowance_names_the_repository_and_not_the_chart() -> None:
    charts = Source(repo_url="registry.example", chart="team-a/web")
    rules = ["oci://registry.example/team-a/*"]
    assert not source_permitted(project({"sourceRepos": rules}), charts)


DESTINATIONS: dict[str, tuple[list[dict[str, str]], bool]] = {
    "all": ([{"server": "*", "namespace": "*"}], True),
    "none": ([], False),
    "by name": ([{"name": "in-cluster", "namespace": "shop"}], True),
    "another namespace": ([{"server": "*", "namespace": "kube-*"}], False),
    "denied namespace": (
        [{"server": "*", "namespace": "*"}, {"server": "*", "namespace": "!shop"}],
        False,
    ),
    "denied server": (
        [{"server": "*", "namespace": "*"}, {"server": f"!{SERVER}", "namespace": "*"}],
        False,
    ),
    "denied elsewhere": (
        [{"server": "*", "namespace": "*"}, {"server": "*", "namespace": "!kube-system"}],
        True,
    ),
}


@pytest.mark.parametrize(("rules", "expected"), DESTINATIONS.values(), ids=DESTINATIONS)
def test_destination_rules(rules: list[dict[str, str]], expected: bool) -> None:  # noqa: FBT001  a table
    assert destination_permitted(project({"destinations": rules}), HERE) is expected


SECRET, ROLE = {"group": "", "kind": "Secret"}, {"group": "rbac*", "kind": "ClusterRole"}

OBJECTS: dict[str, tuple[dict[str, Any], KindInfo, bool]] = {
    "namespaced, no list": ({}, kind("Secret"), True),
    "namespaced, empty list": ({"namespaceResourceWhitelist": []}, kind("Secret"), False),
    "namespaced, listed": ({"namespaceResourceWhitelist": [SECRET]}, kind("Secret"), True),
    "namespaced, not listed": ({"namespaceResourceWhitelist": [SECRET]}, kind("Pod"), False),
    "namespaced, denied": ({"namespaceResourceBlacklist": [SECRET]}, kind("Secret"), False),
    "namespaced, elsewhere": ({"destinations": []}, kind("Secret"), False),
    "cluster, empty list": (
        {"clusterResourceWhitelist": []},
        kind("ClusterRole", "rbac.x", namespaced=False),
        False,
    ),
    "cluster, listed": (
        {"clusterResourceWhitelist": [ROLE]},
        kind("ClusterRole", "rbac.x", namespaced=False),
        True,
    ),
    "cluster, denied": (
        {"clusterResourceBlacklist": [ROLE]},
        kind("ClusterRole", "rbac.x", namespaced=False),
        False,
    ),
    "cluster, another name": (
        {"clusterResourceWhitelist": [ROLE | {"name": "shop-*"}]},
        kind("ClusterRole", "rbac.x", namespaced=False),
        False,
    ),
}


@pytest.mark.parametrize(("rules", "which", "expected"), OBJECTS.values(), ids=OBJECTS)
def test_object_rules(rules: dict[str, Any], which: KindInfo, expected: bool) -> None:  # noqa: FBT001  a table
    assert permitted(project(rules), which, name="web", destination=HERE) is expected


def test_a_project_admits_its_own_namespace_and_those_it_lists() -> None:
    limited = project({"sourceNamespaces": ["team-*"]})
    assert [admits(limited, space) for space in ("argocd", "team-a", "other")] == [
        True,
        True,
        False,
    ]
