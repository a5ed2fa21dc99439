"""Which replicas look at a repository: every one that has followers, each for its own."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.replicas.repository_parts import RepositoryParts, in_shard_of, with_shard
from agent.replicas.shard_ownership import ShardOwnership
from bus.events import Event, RefreshApp, RefreshRepository
from bus.identity import SHARD_NAMES, AppKey, RepositoryKey, shard_of
from bus.route import Route
from bus.subjects import AgentScope, Subject, subject_of

REPOSITORY = RepositoryKey.of("https://git.example/acme/shop.git")
APPS = tuple(AppKey("argocd", f"app-{number}") for number in range(6))
SHARDS = {shard_of(app.token) for app in APPS}
ASK = RefreshRepository(repository=REPOSITORY, ref="refs/heads/main")


def parts(*, divided: bool, held: Sequence[str] = ()) -> RepositoryParts:
    ownership = ShardOwnership(divided=divided)
    ownership.gain(held)
    found = cast("Any", [SimpleNamespace(key=app) for app in APPS])
    return RepositoryParts(apps_of=lambda _: found, ownership=ownership)


def test_a_push_asks_each_shard_that_has_followers_once() -> None:
    asks = parts(divided=True).of_push((ASK,))
    assert {ask.part for ask in asks} == SHARDS
    assert len(asks) == len(SHARDS)
    assert {ask.repository for ask in asks} == {REPOSITORY}


def test_a_poll_asks_the_replica_that_polls() -> None:
    mine = sorted(SHARDS)[1:3]
    assert parts(divided=True, held=mine).of_poll(ASK).part == mine[0]


def test_where_shards_are_not_divided_an_ask_stays_as_it_is() -> None:
    whole = parts(divided=False)
    assert whole.of_push((ASK,)) == (ASK,)
    assert whole.of_poll(ASK) == ASK


@pytest.mark.parametrize("part", ["", *SHARD_NAMES[:2]])
def test_the_subject_of_an_ask_names_the_shard_of_its_part(part: str) -> None:
    ask = RefreshRepository(repository=REPOSITORY, part=part)
    subject = Subject.parse(subject_of(AgentScope("acme", "prod1"), ask))
    assert subject.shard == (part or shard_of(REPOSITORY.token))
    assert subject.key == REPOSITORY.token


def test_what_follows_from_an_application_stays_in_its_shard() -> None:
    cause = RefreshApp(app=APPS[0])
    found = in_shard_of(cause, RefreshRepository(repository=REPOSITORY))
    assert found.shard == cause.shard
    assert in_shard_of(cause, RefreshApp(app=APPS[1])) == RefreshApp(app=APPS[1])


async def test_a_route_of_a_replica_keeps_the_shard_of_its_events() -> None:
    async def handler(_: RefreshApp) -> Sequence[Event]:
        return (RefreshRepository(repository=REPOSITORY),)

    route = with_shard(Route(name="render", event=RefreshApp, handler=handler, lane=str))
    (result,) = await route.handler(RefreshApp(app=APPS[0]))
    assert result.shard == shard_of(APPS[0].token)
