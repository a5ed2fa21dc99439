"""An index names addresses of archives, and whoever writes it is no owner of the login."""

import pytest

from agent.download.failures import DownloadServer
from agent.git.credentials import GitCredential
from agent.helm.archive_address import ArchiveAddress
from agent.helm.index import ChartVersion
from bus.repository_url import RepositoryUrl
from handlers.application.source_address import SourceKind
from handlers.ports import RepositoryAccess, RepositoryError

HOST = "charts.example"


def address_of(written: str, scheme: str = "https", *, consents: bool = False) -> ArchiveAddress:
    url = RepositoryUrl.parse(f"{scheme}://{HOST}/team")
    repository = RepositoryAccess(url=url, kind=SourceKind.HELM, chart="web")
    credential = GitCredential(username="kim", password="secret", pass_credentials=consents)
    server = DownloadServer(name="charts", host=HOST, credential=credential)
    return ArchiveAddress.of(server, repository, ChartVersion("1.0.0", written))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("web-1.0.0.tgz", "https://charts.example/team/web-1.0.0.tgz"),
        ("https://charts.example:443/team/a/web+1.tgz?x=y", ""),
        ("https://elsewhere.example/web.tgz", ""),
    ],
)
def test_a_login_goes_below_the_repository(written: str, expected: str) -> None:
    address = address_of(written)
    assert address.has_login
    if expected:
        assert str(address.url) == expected


@pytest.mark.parametrize(
    "written",
    [
        "../other-team/private.tgz",
        "/other-team/private.tgz",
        "https://charts.example/other-team/private.tgz",
        "https://CHARTS.example.:443/teams/private.tgz",
        "https://charts.example/team/..%2fother-team/private.tgz",
        "https://charts.example/team/%2e%2e/other-team/private.tgz",
        "https://charts.example/team/..;/other-team/private.tgz",
        "//charts.example//team/web.tgz",
    ],
)
def test_a_login_goes_to_no_other_place_of_the_server_without_the_consent_of_its_secret(
    written: str,
) -> None:
    assert not address_of(written).has_login
    assert address_of(written, consents=True).has_login


def test_a_repository_of_https_stays_with_https() -> None:
    with pytest.raises(RepositoryError, match="without TLS"):
        address_of("http://charts.example/team/web.tgz")
    assert address_of("http://charts.example/team/web.tgz", "http").has_login
