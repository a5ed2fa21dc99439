"""Where a source is, of which kind, and the one key of every spelling."""

import pytest

from bus.identity import Revision
from bus.repository_url import RepositoryUrlError
from handlers.application.application import AppProject, AppProjectSpec, Metadata
from handlers.application.project import source_permitted
from handlers.application.revisions import Revisions
from handlers.application.source_address import SourceAddress, SourceKind
from handlers.application.spec import Source
from handlers.sync.hook_tasks import short


def source(url: str, chart: str = "") -> Source:
    return Source(repo_url=url, chart=chart)


@pytest.mark.parametrize(
    ("url", "chart", "kind", "key"),
    [
        ("https://git.example/team/a", "", SourceKind.GIT, "https://git.example/team/a"),
        ("git@git.example:team/a", "", SourceKind.GIT, "ssh://git@git.example/team/a"),
        (
            "https://Charts.example:443/all/",
            "web",
            SourceKind.HELM,
            "https://charts.example/all#web",
        ),
        ("Registry.example/charts", "web", SourceKind.HELM, "oci://registry.example/charts#web"),
        ("registry.example:5000/c", "a/b", SourceKind.HELM, "oci://registry.example:5000/c#a/b"),
        ("OCI://registry.example/web", "", SourceKind.OCI, "oci://registry.example/web"),
        ("oci://registry.example/web", "web", SourceKind.OCI, "oci://registry.example/web"),
    ],
)
def test_the_fields_of_a_source_decide_its_kind_and_key(
    url: str, chart: str, kind: SourceKind, key: str
) -> None:
    address = SourceAddress.of(source(url, chart))

    assert address.kind is kind
    assert str(address.key) == key


@pytest.mark.parametrize("chart", ["..", "a/../b", "/a", "a#b", "a b", "-x", "a//b", "x" * 300])
def test_what_is_no_name_of_a_chart_is_refused(chart: str) -> None:
    with pytest.raises(RepositoryUrlError, match="no name of a chart"):
        SourceAddress.of(source("https://charts.example", chart))


@pytest.mark.parametrize(
    ("rules", "url", "permitted"),
    [
        (("registry.example/*",), "registry.example/charts", True),
        (("oci://registry.example/*",), "registry.example/charts", True),
        (("registry.example:5000/**",), "registry.example:5000/a/b", True),
        (("registry.example/*",), "other.example/charts", False),
        (("*", "!registry.example/*"), "Registry.example/Charts", False),
        (("*", "!oci://registry.example/**"), "registry.example/a/b", False),
        (("https://registry.example/*",), "registry.example/charts", False),
    ],
)
def test_a_rule_of_a_project_holds_for_a_registry_with_and_without_its_scheme(
    rules: tuple[str, ...], url: str, *, permitted: bool
) -> None:
    project = AppProject(metadata=Metadata(name="shop"), spec=AppProjectSpec(source_repos=rules))

    assert source_permitted(project, source(url, "web")) is permitted


@pytest.mark.parametrize(
    ("revision", "shown", "named"),
    [
        ("0123456789" * 4, "0123456", "0123456"),
        ("1.1000.5-rc.1", "1.1000.5-rc.1", "1-1000"),
        ("sha256:" + "ab" * 32, "sha256:abababa", "abababa"),
    ],
    ids=["commit", "version", "digest"],
)
def test_a_revision_is_shortened_for_people_and_for_the_names_of_hooks(
    revision: str, shown: str, named: str
) -> None:
    assert Revisions(Revision(revision)).short == shown
    assert short(revision) == named
