"""Behind proxies the caller's address is what our own proxies say, and nobody else."""

from __future__ import annotations

from ipaddress import ip_network

import aiohttp
import pytest

from bus.http.forwarded import HEADER, Network, caller_address
from service.settings import InvalidServiceSettingsError, load
from service.store.tables import audit
from tests.service.fake_agent import connect
from tests.service.service_fixture import RunningService, open_service, settings

INSIDE: tuple[Network, ...] = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "header", "found"),
    [
        ("198.51.100.7", "", "198.51.100.7"),
        ("198.51.100.7", "203.0.113.9", "198.51.100.7"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "192.0.2.66, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "192.0.2.66, 203.0.113.9, 10.7.0.2", "203.0.113.9"),
        ("10.0.0.1", "10.1.1.1, 10.2.2.2", "10.1.1.1"),
        ("10.0.0.1", "203.0.113.9, <script>", "10.0.0.1"),
        ("fd00::1", "2001:db8::9", "2001:db8::9"),
        ("::ffff:10.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.1", "[2001:db8::9]:4711", "2001:db8::9"),
        ("10.0.0.1", ",".join(["192.0.2.66"] + ["10.0.0.2"] * 1000), "10.0.0.2"),
        ("", "203.0.113.9", ""),
    ],
    ids=[
        "no proxy",
        "a stranger's header",
        "a proxy's own request",
        "one proxy",
        "the caller wrote one itself",
        "two proxies",
        "from inside",
        "nonsense",
        "IPv6",
        "mapped and with a port",
        "IPv6 with a port",
        "endless",
        "no peer",
    ],
)
def test_the_caller_is_whom_the_nearest_proxies_name(peer: str, header: str, found: str) -> None:
    assert caller_address(peer, header, INSIDE) == found


async def address_in_audit(service_settings: dict[str, str], database_url: str) -> str:
    """Of a failed login that claims to be somebody else's."""
    async with open_service(settings(database_url, **service_settings)) as service:
        body = {"name": "admin", "password": "wrong horse battery"}
        async with (
            aiohttp.ClientSession(headers={HEADER: "203.0.113.9"}) as http,
            http.post(f"{service.url}/api/v1/login", json=body) as answer,
        ):
            assert answer.status == 401
        (record,) = await RunningService(service).rows(audit)
    return str(record.address)


async def test_an_untrusted_proxy_cannot_choose_its_address(database_url: str) -> None:
    assert await address_in_audit({}, database_url) == "127.0.0.1"


async def test_a_trusted_proxy_names_the_caller(database_url: str) -> None:
    trusted = {"trusted_proxies": "127.0.0.0/8"}
    assert await address_in_audit(trusted, database_url) == "203.0.113.9"


async def test_an_agent_links_through_a_trusted_proxy(database_url: str) -> None:
    async with open_service(settings(database_url, trusted_proxies="127.0.0.0/8")) as service:
        running_service = RunningService(service)
        identity = await running_service.enrolled()
        async with connect(identity, headers={HEADER: "203.0.113.9"}) as link:
            await link.hello(identity, "e")


async def test_guesses_behind_a_proxy_do_not_lock_out_others(database_url: str) -> None:
    async with open_service(settings(database_url, trusted_proxies="127.0.0.0/8")) as service:

        async def guess(address: str, name: str) -> int:
            body = {"name": name, "password": "wrong horse battery"}
            async with (
                aiohttp.ClientSession(headers={HEADER: address}) as http,
                http.post(f"{service.url}/api/v1/login", json=body) as answer,
            ):
                return answer.status

        statuses = [await guess("203.0.113.9", f"person-{n}") for n in range(28)]
        assert statuses[0] == 401
        assert 429 in statuses
        assert await guess("203.0.113.10", "somebody") == 401


def test_a_network_that_is_none_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITOPS_SERVICE_DATABASE_URL", "postgresql://x/y")
    monkeypatch.setenv("GITOPS_SERVICE_KEY_FILE", "service.key")
    monkeypatch.setenv("GITOPS_SERVICE_TRUSTED_PROXIES", "10.0.0.0/8, everyone")
    with pytest.raises(InvalidServiceSettingsError) as wrong:
        load()
    assert "GITOPS_SERVICE_TRUSTED_PROXIES" in str(wrong.value)
    monkeypatch.setenv("GITOPS_SERVICE_TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8")
    assert load().trusted_proxies == INSIDE
