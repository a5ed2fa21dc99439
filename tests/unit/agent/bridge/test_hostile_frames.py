"""What a hostile service may send to the agent's reader: at most its own link ends by it."""

import asyncio
import base64
import hashlib
import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agent.bridge.connection.uplink import Uplink
from agent.bridge.reporting.object_states import buckets_of, subjects_of
from agent.bridge.transport.link import LinkLostError
from agent.bridge.transport.service_http import (
    ServiceAddress,
    open_service_http,
    refused,
    websocket,
)
from bus.link import MAX_FRAME, Beat, BucketMember, WantBodies, WantBuckets
from bus.link.digest import BUCKETS, in_buckets
from tests.unit.agent.bridge.fake_service import FakeService
from tests.unit.agent.bridge.test_websocket import fake_service as fake_service  # noqa: PLC0414
from tests.unit.agent.bridge.test_websocket import heard

HUGE = "1" + 30 * "0"
TASK = '"id": "x", "subject": "web", "actor": "a"'
NUMBERS = {
    "welcome": f'{{"frame": "Welcome", "session": "s", "fence": {HUGE}, "acked": -{HUGE}, '
    f'"serverTime": 1, "window": {HUGE}}}',
    "acknowledgement": f'{{"frame": "Ack", "through": {HUGE}}}',
    "gap": f'{{"frame": "Missing", "after": -{HUGE}}}',
    "credit": f'{{"frame": "Credit", "task": "x", "chunks": {HUGE}}}',
    "bucket": f'{{"frame": "WantBuckets", "kind": "Application", "buckets": [{HUGE}]}}',
    "head": f'{{"frame": "KeepHead", "head": {{"account": "a", "sequence": {HUGE}, "hash": ""}}}}',
    "history": f'{{"frame": "Offer", "task": {{{TASK}, "kind": "rollback", '
    f'"arguments": {{"id": {HUGE}}}}}}}',
    "digits": f'{{"frame": "Ack", "through": {"9" * 5000}}}',
    "float": f'{{"frame": "Beat", "sentAt": {"9" * 400}}}',
}


@pytest.mark.parametrize("raw", NUMBERS.values(), ids=NUMBERS.keys())
async def test_a_number_that_nobody_can_write_again_is_not_taken(
    fake_service: FakeService, raw: str
) -> None:
    assert await heard(fake_service, raw) == Beat(sent_at=1.0)


TYPES = {
    "null": "null",
    "list": "[]",
    "lists": "[" * 200_000,
    "text": '"Beat"',
    "no tag": "{}",
    "tag of another type": '{"frame": 7}',
    "tag twice": '{"frame": "Ack", "frame": "Teleport", "through": 1}',
    "number for a list": '{"frame": "WantBodies", "kind": "Application", "subjects": 7}',
    "objects for texts": '{"frame": "WantBodies", "kind": "Application", "subjects": [{}]}',
    "text for a number": '{"frame": "Credit", "task": "x", "chunks": "1"}',
    "truth for a number": '{"frame": "Ack", "through": true}',
    "fraction of a sequence": '{"frame": "Ack", "through": 1.5}',
    "frame of the agent": '{"frame": "Items", "items": []}',
    "null for a task": '{"frame": "Offer", "task": null}',
}


@pytest.mark.parametrize("raw", TYPES.values(), ids=TYPES.keys())
async def test_a_frame_of_wrong_types_is_left_out(fake_service: FakeService, raw: str) -> None:
    assert await heard(fake_service, raw) == Beat(sent_at=1.0)


BROKEN = {
    "half an object": '{"frame": "Beat", "sentAt":',
    "two frames": '{"frame": "Ack", "through": 1}{"frame": "Ack", "through": 2}',
    "half a surrogate": '{"frame": "Cancel", "id": "\\ud800"}',
    "not a number": '{"frame": "Beat", "sentAt": NaN}',
    "objects": '{"frame":' * 100_000,
    "deep in what is not known": '{"frame": "Beat", "x": ' + "[" * 200_000,
}


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN.keys())
async def test_what_is_no_json_ends_the_link(fake_service: FakeService, raw: str) -> None:
    with pytest.raises(LinkLostError):
        await heard(fake_service, raw)


def test_a_query_is_answered_once_for_each_bucket_and_subject() -> None:
    members = [BucketMember(subject=f"s{number}", uid="u", hash="h") for number in range(1000)]
    numbers = (-1, BUCKETS, 1 << 62, *(tuple(range(BUCKETS)) * 100))
    answered = tuple(buckets_of(WantBuckets(kind="k", buckets=numbers), members, 0))
    assert [one.bucket for one in answered] == list(range(BUCKETS))
    assert sum(len(one.members) for one in answered) == len(members)
    assert len(in_buckets(members)) <= BUCKETS

    query = WantBodies(kind="k", subjects=(*("a", "b") * 100_000, *map(str, range(100_000))))
    assert subjects_of(query)[:3] == ("a", "b", "0")
    assert len(subjects_of(query)) == 1000


def test_a_gap_before_the_beginning_is_none() -> None:
    uplink = Uplink(acked=5, window=10)
    assert not uplink.rewind(-(1 << 62), 0.0)
    assert (uplink.acked, uplink.cursor) == (5, 5)


@pytest.mark.parametrize("asked", ["²", "٣", "-1", "1e9", "inf", "9" * 5000, " 7", ""])
def test_a_wait_that_is_no_number_of_seconds_is_none(asked: str) -> None:
    assert refused(503, asked).retry_after in (0.0, float("inf"))
    assert refused(503, "7").retry_after == 7


# --- below the frames: bytes of the WebSocket itself ---------------------------------------------


@asynccontextmanager
async def raw_service(sent: bytes, *, extension: str = "") -> AsyncIterator[str]:
    """A service that accepts the WebSocket, sends these bytes, and is silent from then on."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        key = next(one for one in head.split(b"\r\n") if one.lower().startswith(b"sec-websocket-k"))
        magic = key.partition(b":")[2].strip() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(magic).digest()).decode()  # noqa: S324  RFC 6455
        extended = f"Sec-WebSocket-Extensions: {extension}\r\n" if extension else ""
        answer = (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept}\r\n{extended}\r\n"
        )
        writer.write(answer.encode() + sent)
        try:
            await writer.drain()
            await reader.read()  # until the agent hangs up
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def fragment(payload: bytes, *, code: int, last: bool = False, compressed: bool = False) -> bytes:
    first = (0x80 if last else 0) | (0x40 if compressed else 0) | code
    return struct.pack(">BBQ", first, 127, len(payload)) + payload


TEXT, MORE, PING = 1, 0, 9
BEAT = b'{"frame": "Beat", "sentAt": 1.0}'
PART = MAX_FRAME // 4
COMPRESSED = zlib.compress(b" " * (MAX_FRAME * 64), wbits=-15)
BYTES = {
    "a length of exabytes": struct.pack(">BBQ", 0x81, 127, 1 << 62),
    "a negative length": struct.pack(">BBQ", 0x81, 127, (1 << 64) - 1),
    "fragments without end": fragment(b" " * PART, code=TEXT)
    + fragment(b" " * PART, code=MORE) * 8,
    "a continuation of nothing": fragment(BEAT, code=MORE, last=True),
    "a text within a text": fragment(BEAT, code=TEXT) + fragment(BEAT, code=TEXT, last=True),
    "a fragmented ping": fragment(b"x", code=PING),
    "a ping of a megabyte": fragment(b"x" * MAX_FRAME, code=PING, last=True),
    "an unknown code": fragment(BEAT, code=5, last=True),
    "no UTF-8": fragment(b"\xff\xfe", code=TEXT, last=True),
    "bytes": fragment(BEAT, code=2, last=True),
    "compressed, not agreed": fragment(COMPRESSED, code=TEXT, last=True, compressed=True),
}


async def received(url: str) -> object:
    async with (
        asyncio.timeout(120),
        open_service_http(ServiceAddress(url=url)) as http,
        websocket(http, "t") as link,
    ):
        return await link.receive()


@pytest.mark.parametrize("sent", BYTES.values(), ids=BYTES.keys())
async def test_bytes_that_break_the_protocol_end_the_link(sent: bytes) -> None:
    async with raw_service(sent) as url:
        with pytest.raises(LinkLostError):
            await received(url)


async def test_a_compression_that_the_service_wants_alone_expands_nothing() -> None:
    bomb = fragment(COMPRESSED, code=TEXT, last=True, compressed=True)
    async with raw_service(bomb, extension="permessage-deflate") as url:
        with pytest.raises(LinkLostError):
            await received(url)


async def test_fragments_of_a_frame_are_put_together() -> None:
    sent = b"".join(
        fragment(BEAT[at : at + 1], code=MORE if at else TEXT) for at in range(len(BEAT))
    )
    async with raw_service(sent + fragment(b"", code=MORE, last=True)) as url:
        assert await received(url) == Beat(sent_at=1.0)


async def test_half_a_frame_holds_up_nobody_but_its_reader() -> None:
    """The link is given up by its heartbeat; until then a read can be cancelled at any moment."""
    async with raw_service(fragment(BEAT, code=TEXT, last=True)[:-5]) as url:
        reading = asyncio.get_running_loop().create_task(received(url))
        done, _ = await asyncio.wait({reading}, timeout=0.5)
        assert not done
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
