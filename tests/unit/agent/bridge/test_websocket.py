"""What a hostile, broken or newer service may send: the link ends or goes on, never the agent."""

from collections.abc import AsyncIterator

import pytest

from agent.bridge.transport.link import LinkLostError
from agent.bridge.transport.service_http import ServiceAddress, open_service_http, websocket
from bus.link import Beat, DownFrame
from tests.unit.agent.bridge.fake_service import FakeService
from tests.unit.agent.bridge.test_service_http import HELLO


@pytest.fixture
async def fake_service() -> AsyncIterator[FakeService]:
    async with FakeService().open() as fake_service:
        yield fake_service


async def heard(fake_service: FakeService, raw: str) -> DownFrame:
    """The next frame after the welcome, where the service sends `raw` and then a beat."""
    async with (
        open_service_http(ServiceAddress(url=fake_service.url)) as http,
        websocket(http, "t") as link,
    ):
        await link.send(HELLO)
        await link.receive()
        await fake_service._sockets[-1].send_str(raw)
        await fake_service.send(Beat(sent_at=1.0))
        return await link.receive()


OFFER = '{"frame": "Offer", "task": {"id": "x", "kind": "format-disk", "subject": "", "actor": ""}}'


NUMBER = '{"frame": "Beat", "sentAt": 1e999}'


@pytest.mark.parametrize(
    "raw",
    [
        '{"frame": "Teleport", "where": "mars"}',
        '{"frame": "Ack", "through": "many"}',
        OFFER,
        NUMBER,
    ],
    ids=["frame", "field", "kind of task", "number"],
)
async def test_what_another_version_says_is_left_out(fake_service: FakeService, raw: str) -> None:
    assert await heard(fake_service, raw) == Beat(sent_at=1.0)


@pytest.mark.parametrize(
    "raw",
    [
        "no json",
        '{"frame": "Offer", "task": {"arguments": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}}",
        "x" * (1 << 21),
    ],
    ids=["text", "deep", "large"],
)
async def test_what_cannot_be_read_ends_the_link_and_nothing_else(
    fake_service: FakeService, raw: str
) -> None:
    with pytest.raises(LinkLostError):
        await heard(fake_service, raw)
