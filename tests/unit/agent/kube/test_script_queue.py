"""Whose object is judged next, and how many bytes may wait for that."""

from __future__ import annotations

from msgspec.structs import replace

from agent.kube.index import LiveIndex
from agent.kube.script_queue import ScriptQueue
from agent.kube.script_strikes import MOST, SECONDS, ScriptStrikes
from handlers.application.health_scripts import HealthScript
from handlers.ports import LiveObject
from tests.unit.agent.kube.object_samples import live

INDEX = LiveIndex("argocd")
SCRIPT = HealthScript(text="return {}", source="resource.customizations.health.ConfigMap")


def of(namespace: str, name: str = "a") -> LiveObject:
    return live(name, namespace=namespace)


def untracked(namespace: str, name: str = "a") -> LiveObject:
    return replace(of(namespace, name), body=b"")


def served(queue: ScriptQueue, cost: dict[str, float]) -> list[str]:
    """Serve all; each object of a namespace costs what the table says, or a millisecond."""
    names = []
    while queue:
        one = queue.next()
        queue.spend(one.tenant, cost.get(one.tenant.namespace, 0.001))
        names.append(f"{one.tenant.namespace}/{one.live.key.name}")
    return names


def test_of_one_namespace_the_longest_waiting_object_is_next() -> None:
    queue = ScriptQueue()
    for name in ("b", "a", "c"):
        queue.add(INDEX, of("shop", name), b"")

    assert served(queue, {}) == ["shop/b", "shop/a", "shop/c"]


def test_a_namespace_that_costs_much_is_served_once_and_then_last() -> None:
    queue = ScriptQueue()
    for number in range(3):
        queue.add(INDEX, of("slow", str(number)), b"")
    for number in range(5):
        queue.add(INDEX, of("shop", str(number)), b"")

    order = served(queue, {"slow": 1.0})

    assert [one for one in order if one.startswith("slow")][1:] == order[-2:]


def test_a_namespace_gets_no_credit_for_having_been_idle() -> None:
    queue = ScriptQueue()
    for number in range(4):
        queue.add(INDEX, of("busy", str(number)), b"")
    for _ in range(2):
        queue.spend(queue.next().tenant, 1.0)
    for number in range(3):
        queue.add(INDEX, of("idle", str(number)), b"")

    order = served(queue, {"busy": 1.0, "idle": 1.0})

    assert order.index("busy/2") < order.index("idle/2")


def test_a_newer_version_takes_the_place_of_the_older_one() -> None:
    queue = ScriptQueue()
    queue.add(INDEX, untracked("shop"), b"old")
    queue.add(INDEX, untracked("shop"), b"new")

    assert queue.kept_bytes == 3
    assert queue.next().raw == b"new"
    assert not queue


def test_the_bytes_of_a_namespace_that_wait_are_bounded() -> None:
    queue = ScriptQueue(of_one_namespace=10, of_all=25)

    assert not queue.add(INDEX, untracked("shop", "a"), b"12345678")
    (crowded,) = queue.add(INDEX, untracked("shop", "b"), b"123")
    assert crowded.live.key.name == "b"
    assert not queue.add(INDEX, of("shop", "tracked"), b"1234567890123456")
    assert queue.kept_bytes == 8


def test_where_all_have_too_much_the_namespace_that_has_most_gives_way() -> None:
    queue = ScriptQueue(of_one_namespace=10, of_all=25)
    for namespace in ("hostile1", "hostile2"):
        queue.add(INDEX, untracked(namespace, "a"), b"12345")
        queue.add(INDEX, untracked(namespace, "b"), b"12345")
    queue.add(INDEX, untracked("shop", "a"), b"1234")

    crowded = queue.add(INDEX, untracked("web", "a"), b"12345")

    assert [(one.tenant.namespace, one.live.key.name) for one in crowded] == [("hostile1", "b")]
    assert queue.kept_bytes == 24


def test_nothing_of_an_index_that_is_dropped_waits() -> None:
    queue, other = ScriptQueue(), LiveIndex("argocd")
    queue.add(INDEX, untracked("shop"), b"1")
    queue.add(other, untracked("shop"), b"2")

    queue.drop_index(INDEX)

    assert queue.next().tenant.index is other
    assert not queue
    assert queue.kept_bytes == 0


def test_a_script_is_out_for_one_namespace_and_comes_back() -> None:
    now = 0.0
    queue, strikes = ScriptQueue(), ScriptStrikes(lambda: now)
    for namespace in ("shop", "web"):
        queue.add(INDEX, of(namespace), b"")
    shop, web = queue.next().tenant, queue.next().tenant
    for _ in range(MOST):
        strikes.add(shop, SCRIPT)

    assert strikes.are_out(shop, SCRIPT)
    assert not strikes.are_out(web, SCRIPT)
    now = SECONDS
    assert not strikes.are_out(shop, SCRIPT)
    strikes.add(shop, SCRIPT)
    assert strikes.are_out(shop, SCRIPT)
    strikes.forgive(shop, SCRIPT)
    assert not strikes.are_out(shop, SCRIPT)
