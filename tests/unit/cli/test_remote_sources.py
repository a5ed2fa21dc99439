"""An application with several sources: each is listed, and a sync names the revisions of some."""

from __future__ import annotations

import msgspec
import pytest

from bus.link import StateBody
from tests.service.fake_agent import application
from tests.unit.cli.service_fixture import ServiceFixture, answering

CHART = {"repoURL": "https://git.example/shop", "path": "chart", "targetRevision": "main"}
LENT = {"repoURL": "https://git.example/values", "ref": "values"}
REVISIONS = ["a" * 40, "b" * 40]


def two_sources() -> StateBody:
    body = application("shop")
    spec = {**body.spec, "source": None, "sources": [LENT, CHART]}
    entry = {"id": 0, "revisions": REVISIONS, "sources": [LENT, CHART]}
    status = {
        **body.status,
        "sync": {"status": "Synced", "revisions": REVISIONS, "comparedTo": {"sources": [LENT]}},
        "history": [entry],
    }
    return msgspec.structs.replace(body, spec=spec, status=status)


async def test_each_source_is_listed_with_its_revision(service: ServiceFixture) -> None:
    await service.log_in()
    async with answering(service.running_service, two_sources()):
        shown = await service.run("app", "get", "shop")
        history = await service.run("app", "history", "shop")
    assert shown.code == history.code == 0, shown.err + history.err
    lines = [" ".join(one.split()) for one in shown.out.splitlines()]
    assert "Source 1 https://git.example/values ref values at aaaaaaa" in lines
    assert "Source 2 https://git.example/shop chart main at bbbbbbb" in lines
    assert "aaaaaaa, bbbbbbb" in history.out


async def test_a_sync_names_the_revision_of_one_source(service: ServiceFixture) -> None:
    await service.log_in()
    named = ("--revisions", "v2", "--source-positions", 2)
    async with answering(service.running_service, two_sources()) as agent:
        ran = await service.run("app", "sync", "shop", *named, "--wait")
    assert ran.code == 0, ran.err
    (offer,) = agent.offered
    assert offer.task.arguments["revisions"] == ["", "v2"]
    assert "revision" not in offer.task.arguments


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--revisions", "v2"), "a --source-positions of its own"),
        (("--revisions", "v2", "--source-positions", 3), "has 2 sources"),
        (("--revisions", "a", "--source-positions", 1, "--revision", "b"), "and no --revision"),
        (("--revisions", "a", "--source-positions", 0), "greater than or equal to 1"),
    ],
)
async def test_a_revision_without_its_source_is_refused(
    service: ServiceFixture, options: tuple[str | int, ...], expected: str
) -> None:
    await service.log_in()
    async with answering(service.running_service, two_sources()) as agent:
        ran = await service.run("app", "sync", "shop", *options)
    assert ran.code == 2
    assert expected in ran.err
    assert not agent.offered
