"""A server of charts may not lead the agent to itself, its link, or the metadata of its cloud."""

from pathlib import Path

import pytest
from yarl import URL

from agent.download.downloader import DownloadRequest, open_downloader
from agent.download.failures import DownloadServer
from agent.download.local_addresses import RemoteResolver, proxy_hosts
from agent.git.server_trust import MachineTrust
from bus.address import Origin
from bus.local_address import is_local
from handlers.ports import RepositoryError


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.8.8.8",
        "169.254.169.254",
        "100.100.100.200",
        "0.0.0.0",
        "::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "::ffff:169.254.169.254",
        "LocalHost.",
        "a.localhost",
    ],
)
async def test_an_address_of_this_machine_or_its_link_is_refused(host: str, tmp_path: Path) -> None:
    assert is_local(host)
    server = DownloadServer(name="charts", host="charts.example")
    bracketed = f"[{host.partition('%')[0]}]" if ":" in host else host
    request = DownloadRequest(
        url=URL(f"http://{bracketed}/x"), into=tmp_path / "x", limit=1, what="the archive"
    )
    origin = Origin.parse("http", "charts.example")
    async with open_downloader(server, origin, MachineTrust()) as downloader:
        with pytest.raises(RepositoryError, match="an address of this machine or its link"):
            await downloader.get(request)


@pytest.mark.parametrize("host", ["10.0.0.1", "192.168.1.1", "93.184.216.34", "charts.example"])
def test_an_address_of_a_network_is_no_local_one(host: str) -> None:
    assert not is_local(host)


def test_the_host_of_a_proxy_is_known_and_one_that_cannot_be_read_is_no_error() -> None:
    assert "proxy.example" in proxy_hosts("http://kim:secret@Proxy.example:3128")
    assert "" not in proxy_hosts("http://[not-an-address")


async def test_a_name_that_leads_to_a_local_address_is_refused_unless_it_is_known() -> None:
    """`localhost` is the one name that leads there on every machine; so does a bare number."""
    for name in ("localhost", "2130706433"):
        with pytest.raises(OSError, match="leads to an address of this machine"):
            await RemoteResolver(frozenset()).resolve(name, 80)
    assert await RemoteResolver(frozenset({"localhost"})).resolve("localhost", 80)
