"""Events on their way to a reader: each version once, of the application only, never too many."""

import asyncio

from msgspec.json import encode

from agent.bridge.tasks.executors.event_versions import EventVersions


def event(uid: str, version: str = "1", about: str = "mine") -> dict[str, object]:
    metadata = {"uid": uid, "resourceVersion": version}
    return {"metadata": metadata, "involvedObject": {"uid": about}}


def of_mine(found: object) -> bool:
    return isinstance(found, dict) and found["involvedObject"]["uid"] == "mine"


async def taken(versions: EventVersions, count: int) -> list[tuple[str, int]]:
    found = [await versions.next(5.0) for _ in range(count)]
    return [(one["metadata"]["uid"], dropped) for one, dropped in found]


async def test_what_is_said_again_is_told_once_and_a_newer_version_anew() -> None:
    versions = EventVersions(of_mine)
    for one in (event("a"), event("b"), event("a"), event("a", "2")):
        versions.put(encode(one))
    assert await taken(versions, 3) == [("a", 0), ("b", 0), ("a", 0)]
    assert await versions.next(0.01) == (None, 0)


async def test_what_is_about_something_else_is_not_told() -> None:
    versions = EventVersions(of_mine)
    versions.put(encode(event("a", about="theirs")))
    versions.put(encode(event("b")))
    assert await taken(versions, 1) == [("b", 0)]


async def test_an_object_that_becomes_known_later_is_told_of_when_its_event_comes_again() -> None:
    mine: set[str] = set()
    versions = EventVersions(
        lambda it: isinstance(it, dict) and it["involvedObject"]["uid"] in mine
    )
    versions.put(encode(event("a", about="pod")))
    mine.add("pod")
    versions.put(encode(event("a", about="pod")))
    assert await taken(versions, 1) == [("a", 0)]


async def test_a_reader_too_slow_loses_the_oldest_and_is_told_how_many() -> None:
    versions = EventVersions(of_mine, waiting=2)
    for number in range(5):
        versions.add(event(str(number)))
    assert await taken(versions, 2) == [("3", 3), ("4", 0)]


async def test_who_waits_is_woken() -> None:
    versions = EventVersions(of_mine)
    waiting = asyncio.create_task(versions.next(10.0))
    await asyncio.sleep(0)
    versions.add(event("a"))
    found, _ = await waiting
    assert found["metadata"]["uid"] == "a"
