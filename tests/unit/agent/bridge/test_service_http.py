"""The way out: a private authority, a client certificate, a proxy with CONNECT."""

import ssl
import traceback
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.bridge.transport.link import LinkLostError, LinkRefusedError
from agent.bridge.transport.service_http import (
    ServiceAddress,
    ServiceHttpClient,
    open_service_http,
    websocket,
)
from bus.link import PROTOCOL, Challenge, Hello, Welcome
from playground.certificates import (
    Authority,
    KeyPair,
    make_authority,
    make_client_pair,
    make_serving_pair,
)
from tests.connect_proxy import connect_proxy, refusing_proxy
from tests.unit.agent.bridge.fake_service import FakeService

HELLO = Hello(account="a", agent="b", instance="i", epoch="e", protocol=PROTOCOL, version="1")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return make_authority(tmp_path)


@pytest.fixture
async def fake_service(authority: Authority, tmp_path: Path) -> AsyncIterator[FakeService]:
    """Over TLS, and only for clients with a certificate of our authority."""
    pair = make_serving_pair(authority, tmp_path, ())
    context = ssl.create_default_context(
        ssl.Purpose.CLIENT_AUTH, cafile=str(authority.certificate_file)
    )
    context.load_cert_chain(pair.certificate_file, pair.key_file)
    context.verify_mode = ssl.CERT_REQUIRED
    async with FakeService(tls=context).open() as fake_service:
        yield fake_service


@pytest.fixture
def client(authority: Authority, tmp_path: Path) -> KeyPair:
    return make_client_pair(authority, tmp_path, "agent", "agents")


def address(fake_service: FakeService, authority: Authority, client: KeyPair) -> ServiceAddress:
    return ServiceAddress(
        url=f"https://localhost:{fake_service.port}",
        ca=authority.certificate_file,
        cert=client.certificate_file,
        key=client.key_file,
    )


async def greeted(http: ServiceHttpClient) -> Welcome:
    async with websocket(http, "t") as link:
        await link.send(HELLO)
        frame = await link.receive()
    assert isinstance(frame, Welcome)
    return frame


async def test_a_private_authority_and_a_client_certificate_are_used(
    fake_service: FakeService, authority: Authority, client: KeyPair
) -> None:
    async with open_service_http(address(fake_service, authority, client)) as http:
        assert (await greeted(http)).fence == 1


async def test_without_the_authority_nothing_is_said(
    fake_service: FakeService, authority: Authority, client: KeyPair
) -> None:
    unknown = ServiceAddress(url=f"https://localhost:{fake_service.port}")
    async with open_service_http(unknown) as http:
        with pytest.raises(LinkLostError, match="certificate"):
            await greeted(http)
    assert fake_service.hellos == []


async def test_the_link_goes_through_the_proxy_of_the_environment(
    fake_service: FakeService,
    authority: Authority,
    client: KeyPair,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with connect_proxy() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("no_proxy", "")
        async with open_service_http(address(fake_service, authority, client)) as http:
            assert (await greeted(http)).fence == 1
            await http.post("/challenge", HELLO, Challenge)
    assert set(proxy.asked) == {f"CONNECT localhost:{fake_service.port} HTTP/1.1"}


async def test_a_proxy_that_refuses_is_named_without_its_password(
    fake_service: FakeService,
    authority: Authority,
    client: KeyPair,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with refusing_proxy() as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://team:hunter2-secret@127.0.0.1:{port}")
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("no_proxy", "")
        async with open_service_http(address(fake_service, authority, client)) as http:
            for refused in (http.post("/challenge", HELLO, Challenge), greeted(http)):
                with pytest.raises(LinkLostError, match="407") as failed:
                    await refused
                assert "hunter2" not in "".join(traceback.format_exception(failed.value))


async def test_a_refusal_says_the_services_words_and_is_not_tried_at_once() -> None:
    async with (
        FakeService().open() as fake_service,
        open_service_http(ServiceAddress(url=fake_service.url)) as http,
    ):
        with pytest.raises(LinkRefusedError, match="404"):
            await http.post("/nowhere", HELLO, Challenge)
