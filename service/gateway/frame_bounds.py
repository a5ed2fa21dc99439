"""Bounds of frames: sizes, and numbers that a table can hold. Pure.

An agent that breaks a bound is told which, and may come back after a while: a broken outbox must
not end its link for ever, and must not keep the service busy either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from bus.link import (
    KEPT_HEADS,
    Bodies,
    Chunk,
    HashBucket,
    Hello,
    Items,
    KeptHeads,
    LinkItem,
    Roots,
    UpFrame,
)
from bus.link.digest import BUCKETS

AGAIN_AFTER = 60.0
"""Seconds after which an agent that broke a bound may come back."""
LARGEST = 2**63 - 1
"""Of a column of whole numbers."""
ALLOWED_BYTES = 16 * 1024
CHUNK_CHARACTERS = 16 * 1024
"""Of a piece of a stream: a larger one would be told to all readers of all streams at once."""
_NAME, _VERSION, _EPOCH, _WORDS, _RUNNING, _KINDS = 253, 64, 36, 64, 1000, 64


def broken_bound(frame: UpFrame) -> str:
    """Name the first bound that `frame` breaks, in words for its agent; empty for none."""
    match frame:
        case Hello():
            problems = _hello(frame)
        case Items() | Bodies():
            problems = _items(frame.items)
        case Roots():
            problems = _roots(frame)
        case HashBucket():
            problems = _bucket(frame)
        case KeptHeads():
            problems = _heads(len(frame.heads), (it.sequence for it in frame.heads))
        case Chunk():
            problems = _chunk(frame)
        case _:
            return ""
    return next(problems, "")


def _hello(hello: Hello) -> Iterator[str]:
    yield from _lengths(
        account=(hello.account, _NAME),
        agent=(hello.agent, _NAME),
        instance=(hello.instance, _NAME),
        version=(hello.version, _VERSION),
        epoch=(hello.epoch, _EPOCH),
        clusterUid=(hello.cluster_uid, _VERSION),
    )
    yield from _long("capabilities", hello.capabilities, _WORDS)
    yield from _long("running", hello.running, _RUNNING)
    yield from _outside("outbox", hello.outbox, LARGEST)
    size = len(msgspec.json.encode(hello.allowed))
    if size > ALLOWED_BYTES:
        yield f"Hello: allowed has {size} bytes, at most {ALLOWED_BYTES}"
    yield from _heads(len(hello.heads), (it.sequence for it in hello.heads))


def _items(items: Iterable[LinkItem]) -> Iterator[str]:
    for item in items:
        yield from _outside("sequence of an item", item.sequence, LARGEST)
        yield from _outside("before of an item", item.before, LARGEST)


def _roots(roots: Roots) -> Iterator[str]:
    yield from _outside("through of Roots", roots.through, LARGEST)
    if len(roots.kinds) > _KINDS:
        yield f"Roots: {len(roots.kinds)} kinds, at most {_KINDS}"


def _bucket(bucket: HashBucket) -> Iterator[str]:
    yield from _outside("through of a bucket", bucket.through, LARGEST)
    yield from _outside("number of a bucket", bucket.bucket, BUCKETS - 1)


def _chunk(chunk: Chunk) -> Iterator[str]:
    yield from _outside("number of a chunk", chunk.number, LARGEST)
    yield from _outside("dropped of a chunk", chunk.dropped, LARGEST)
    if len(chunk.text) > CHUNK_CHARACTERS:
        yield f"Chunk: text has {len(chunk.text)} characters, at most {CHUNK_CHARACTERS}"


def _heads(count: int, sequences: Iterable[int]) -> Iterator[str]:
    if count > KEPT_HEADS:
        yield f"{count} heads of the audit, at most {KEPT_HEADS}"
    for sequence in sequences:
        yield from _outside("sequence of a head", sequence, LARGEST)


def _lengths(**texts: tuple[str, int]) -> Iterator[str]:
    for name, (text, most) in texts.items():
        if len(text) > most:
            yield f"Hello: {name} has {len(text)} characters, at most {most}"


def _long(name: str, words: tuple[str, ...], most: int) -> Iterator[str]:
    if len(words) > most:
        yield f"Hello: {len(words)} {name}, at most {most}"
    if any(len(word) > _WORDS for word in words):
        yield f"Hello: each of {name} has at most {_WORDS} characters"


def _outside(name: str, number: int, most: int) -> Iterator[str]:
    if not 0 <= number <= most:
        yield f"{name} is {number}: expected 0 to {most}"
