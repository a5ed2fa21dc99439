"""What a hostile, broken or newer service may send: the link ends or goes on, never the agent."""

from collections.abc import AsyncIterator

import pytest

from agent.bridge.link import LinkLostError
from agent.bridge.outside import Place, outside
from agent.bridge.websocket import websocket
from bus.link import Beat, DownFrame
from tests.bridge.farend import FarEnd
from tests.bridge.test_outside import HELLO


@pytest.fixture
async def far() -> AsyncIterator[FarEnd]:
    async with FarEnd().open() as far:
        yield far


async def heard(far: FarEnd, raw: str) -> DownFrame:
    """The next frame after the welcome, where the far end says `raw` and then a beat."""
    async with outside(Place(url=far.url)) as way, websocket(way, "t") as link:
        await link.send(HELLO)
        await link.receive()
        await far._sockets[-1].send_str(raw)
        await far.say(Beat(sent_at=1.0))
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
async def test_what_another_version_says_is_left_out(far: FarEnd, raw: str) -> None:
    assert await heard(far, raw) == Beat(sent_at=1.0)


@pytest.mark.parametrize(
    "raw",
    [
        "no json",
        '{"frame": "Offer", "task": {"arguments": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}}",
        "x" * (1 << 21),
    ],
    ids=["text", "deep", "large"],
)
async def test_what_cannot_be_read_ends_the_link_and_nothing_else(far: FarEnd, raw: str) -> None:
    with pytest.raises(LinkLostError):
        await heard(far, raw)
