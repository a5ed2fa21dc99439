"""The way out: a private authority, a client certificate, a proxy with CONNECT."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.bridge.link import LinkLostError, LinkRefusedError
from agent.bridge.outside import Outside, Place, outside
from agent.bridge.websocket import websocket
from bus.link import PROTOCOL, Challenge, Hello, Welcome
from playground.certificates import (
    Authority,
    KeyPair,
    make_authority,
    make_client_pair,
    make_serving_pair,
)
from tests.bridge.farend import FarEnd
from tests.proxy import connect_proxy

HELLO = Hello(account="a", agent="b", instance="i", epoch="e", protocol=PROTOCOL, version="1")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return make_authority(tmp_path)


@pytest.fixture
async def far(authority: Authority, tmp_path: Path) -> AsyncIterator[FarEnd]:
    """Over TLS, and only for clients with a certificate of our authority."""
    pair = make_serving_pair(authority, tmp_path, ())
    context = ssl.create_default_context(
        ssl.Purpose.CLIENT_AUTH, cafile=str(authority.certificate_file)
    )
    context.load_cert_chain(pair.certificate_file, pair.key_file)
    context.verify_mode = ssl.CERT_REQUIRED
    async with FarEnd(tls=context).open() as far:
        yield far


@pytest.fixture
def client(authority: Authority, tmp_path: Path) -> KeyPair:
    return make_client_pair(authority, tmp_path, "agent", "agents")


def place(far: FarEnd, authority: Authority, client: KeyPair) -> Place:
    return Place(
        url=f"https://localhost:{far.port}",
        ca=authority.certificate_file,
        cert=client.certificate_file,
        key=client.key_file,
    )


async def greeted(way: Outside) -> Welcome:
    async with websocket(way, "t") as link:
        await link.send(HELLO)
        frame = await link.receive()
    assert isinstance(frame, Welcome)
    return frame


async def test_a_private_authority_and_a_client_certificate_are_used(
    far: FarEnd, authority: Authority, client: KeyPair
) -> None:
    async with outside(place(far, authority, client)) as way:
        assert (await greeted(way)).fence == 1


async def test_without_the_authority_nothing_is_said(
    far: FarEnd, authority: Authority, client: KeyPair
) -> None:
    unknown = Place(url=f"https://localhost:{far.port}")
    async with outside(unknown) as way:
        with pytest.raises(LinkLostError, match="certificate"):
            await greeted(way)
    assert far.hellos == []


async def test_the_link_goes_through_the_proxy_of_the_environment(
    far: FarEnd, authority: Authority, client: KeyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect_proxy() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("no_proxy", "")
        async with outside(place(far, authority, client)) as way:
            assert (await greeted(way)).fence == 1
            await way.post("/challenge", HELLO, Challenge)
    assert set(proxy.asked) == {f"CONNECT localhost:{far.port} HTTP/1.1"}


async def test_a_refusal_says_the_services_words_and_is_not_tried_at_once() -> None:
    async with FarEnd().open() as far, outside(Place(url=far.url)) as way:
        with pytest.raises(LinkRefusedError, match="404"):
            await way.post("/nowhere", HELLO, Challenge)
