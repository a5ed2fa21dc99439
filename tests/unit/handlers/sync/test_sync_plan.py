from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from bus.identity import ResourceKey
from handlers.sync.sync_plan import SyncAction, SyncPhase, SyncStep, SyncTask, plan

GROUP = "shop.example"


def apply(
    kind: str, name: str = "x", wave: int = 0, *, group: str = "", space: str = ""
) -> SyncTask:
    return SyncTask(action=SyncAction.APPLY, key=ResourceKey(group, kind, space, name), wave=wave)


def prune(name: str, wave: int = 0, *, last: bool = False, kind: str = "ConfigMap") -> SyncTask:
    key = ResourceKey("", kind, "shop", name)
    return SyncTask(action=SyncAction.PRUNE, key=key, wave=wave, prune_last=last)


def definition(kind: str, wave: int = 0) -> SyncTask:
    manifest = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind},
        "spec": {
            "group": GROUP,
            "names": {"kind": kind},
            "versions": [{"name": "v1", "served": True}],
        },
    }
    key = ResourceKey("apiextensions.k8s.io", "CustomResourceDefinition", "", kind)
    return SyncTask(action=SyncAction.APPLY, key=key, wave=wave, manifest=manifest)


def shape(steps: tuple[SyncStep, ...]) -> list[tuple[int, list[str]]]:
    return [(s.wave, [f"{t.key.kind}/{t.key.name}" for t in s.tasks]) for s in steps]


def test_waves_come_in_order_and_kinds_inside_them() -> None:
    steps = plan(
        [apply("Deployment", "b", 1), apply("Service", "a"), apply("ConfigMap", "c"), apply("Pod")]
    )
    assert shape(steps) == [
        (0, ["ConfigMap/c", "Service/a", "Pod/x"]),
        (1, ["Deployment/b"]),
    ]


def test_a_group_holds_one_kind_in_name_order() -> None:
    (step,) = plan([apply("Secret", "b"), apply("Secret", "a"), apply("ConfigMap")])
    assert [[task.key.name for task in group] for group in step.applies] == [["a", "b"], ["x"]]


def test_a_namespace_is_moved_to_its_first_user() -> None:
    steps = plan([apply("Namespace", "shop", 5), apply("ConfigMap", "c", -1, space="shop")])
    assert shape(steps) == [(-1, ["Namespace/shop", "ConfigMap/c"])]


def test_a_definition_goes_in_a_step_of_its_own_before_the_first_object_of_its_kind() -> None:
    steps = plan([definition("Cart", 3), apply("Cart", "c", 1, group=GROUP), apply("ConfigMap")])
    assert shape(steps) == [
        (0, ["ConfigMap/x"]),
        (1, ["CustomResourceDefinition/Cart"]),
        (1, ["Cart/c"]),
    ]


def test_a_definition_that_nobody_needs_stays_in_its_wave() -> None:
    steps = plan([definition("Cart"), apply("ConfigMap")])
    assert shape(steps) == [(0, ["ConfigMap/x", "CustomResourceDefinition/Cart"])]


def test_prunes_run_through_the_waves_backwards() -> None:
    steps = plan([prune("a", 1), prune("b", 2), prune("c", 7)])
    assert shape(steps) == [(1, ["ConfigMap/c"]), (2, ["ConfigMap/b"]), (7, ["ConfigMap/a"])]


def test_inside_a_wave_what_is_applied_last_is_pruned_first() -> None:
    (step,) = plan([prune("a", kind="Secret"), prune("b", kind="Deployment")])
    assert [task.key.kind for task in step.prunes] == ["Deployment", "Secret"]


def test_prune_last_comes_after_every_wave() -> None:
    steps = plan([prune("late", 1, last=True), prune("a", 2), apply("ConfigMap", "c", 4)])
    assert shape(steps)[-1] == (5, ["ConfigMap/late"])


def test_a_created_namespace_comes_before_every_wave() -> None:
    created = SyncTask(
        action=SyncAction.APPLY,
        key=ResourceKey("", "Namespace", "", "shop"),
        phase=SyncPhase.PRE_SYNC,
    )
    steps = plan([apply("ConfigMap", "c", -100), created])
    assert [step.phase for step in steps] == [SyncPhase.PRE_SYNC, SyncPhase.SYNC]


KINDS = st.sampled_from(["Namespace", "Secret", "ConfigMap", "Service", "Deployment", "Cart"])
APPLIES = st.builds(apply, KINDS, st.sampled_from("abcd"), st.integers(-3, 3))
PRUNES = st.builds(
    lambda name, wave, last: prune(name, wave, last=last),
    st.sampled_from("pqrs"),
    st.integers(-3, 3),
    st.booleans(),
)
TASKS = st.lists(st.one_of(APPLIES, PRUNES), unique_by=lambda task: task.key)


@given(TASKS)
def test_every_task_is_planned_exactly_once(tasks: list[SyncTask]) -> None:
    planned = [task.key for step in plan(tasks) for task in step.tasks]
    assert sorted(planned) == sorted(task.key for task in tasks)


@given(TASKS, st.randoms(use_true_random=False))
def test_the_order_given_does_not_matter(tasks: list[SyncTask], random: Random) -> None:
    shuffled = list(tasks)
    random.shuffle(shuffled)
    assert plan(tasks) == plan(shuffled)


@given(TASKS)
def test_waves_never_go_back(tasks: list[SyncTask]) -> None:
    waves = [step.wave for step in plan(tasks)]
    assert waves == sorted(waves)
