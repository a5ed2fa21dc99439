"""What a replica acts for, and who is told of it."""

from prometheus_client import CollectorRegistry, generate_latest

from agent.replicas.shard_info import ShardInfo
from agent.replicas.shard_ownership import ShardOwnership
from agent.replicas.shard_table import divided, with_beat
from bus.identity import AppKey, shard_of

APP = AppKey("argocd", "guestbook")
SHARD = shard_of(APP.token)


def scraped(ownership: ShardOwnership) -> list[str]:
    registry = CollectorRegistry()
    registry.register(ShardInfo(ownership))
    text = generate_latest(registry).decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_an_agent_that_divides_nothing_owns_everything_and_may_write() -> None:
    ownership = ShardOwnership()
    assert ownership.owns(APP)
    assert ownership.fence.is_open
    assert scraped(ownership) == []


def test_a_replica_owns_what_it_has_gained_and_not_lost() -> None:
    ownership = ShardOwnership(divided=True)
    assert not ownership.owns(APP)
    assert not ownership.fence.is_open
    ownership.gain([SHARD])
    assert ownership.owns(APP)
    ownership.lose([SHARD])
    assert not ownership.owns(APP)


def test_each_change_is_told_once() -> None:
    ownership, heard = ShardOwnership(divided=True), list[tuple[str, frozenset[str]]]()
    ownership.gained.subscribe(lambda shards: heard.append(("gained", shards)))
    ownership.lost.subscribe(lambda shards: heard.append(("lost", shards)))
    for _ in range(2):
        ownership.gain(["00", "01"])
    for _ in range(2):
        ownership.lose(["01", "02"])
    assert heard == [("gained", frozenset({"00", "01"})), ("lost", frozenset({"01"}))]


def test_a_scrape_names_each_shard_with_its_term() -> None:
    ownership = ShardOwnership(divided=True)
    ownership.table = divided(with_beat(ownership.table, "one"))
    ownership.gain(["00", "3f"])
    assert scraped(ownership) == [
        'gitops_shard_term{shard="00"} 1.0',
        'gitops_shard_term{shard="3f"} 1.0',
    ]
