"""What an operation has to do in a world: tasks for the plan, and results known at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from bus.identity import ResourceKey
from bus.status import ResultStatus
from handlers.application.application import Application
from handlers.application.options import sync_options_of_app
from handlers.application.spec import SyncOperation, SyncResource
from handlers.application.status import ResourceResult
from handlers.compare.world import Pair, State, World
from handlers.manifest.options import (
    Consent,
    SyncOptions,
    parse_sync_options,
    sync_options_of,
)
from handlers.sync.plan import Action, Phase, Task
from handlers.sync.results import result


class Work(msgspec.Struct, frozen=True, kw_only=True):
    tasks: tuple[Task, ...]
    settled: tuple[ResourceResult, ...] = ()
    """Objects that are not touched: not permitted, or not to be pruned."""


def options_of(app: Application, sync: SyncOperation | None = None) -> SyncOptions:
    """Of the operation where it names any, else of the application."""
    own = sync.sync_options if sync else ()
    return parse_sync_options(own) if own else sync_options_of_app(app)


def work_of(world: World, sync: SyncOperation, options: SyncOptions) -> Work:
    tasks: list[Task] = []
    settled: list[ResourceResult] = []
    for pair in _chosen(world.pairs, sync.resources):
        if options.apply_out_of_sync_only and pair.state is State.SAME:
            continue
        task = _task(pair, options)
        untouched = _untouched(task, pair, sync, options)
        if untouched is None:
            tasks.append(task)
        else:
            settled.append(untouched)
    return Work(tasks=tuple(tasks), settled=tuple(settled))


def namespace_task(
    name: str, world: World, options: SyncOptions, *, exists: bool
) -> Iterator[Task]:
    """CreateNamespace: a bare Namespace before everything else, tracked by nobody."""
    written = any(_is_namespace(one.key, name) and one.desired for one in world.pairs)
    if not options.create_namespace or exists or written or not name:
        return
    yield Task(
        action=Action.APPLY,
        key=ResourceKey("", "Namespace", "", name),
        version="v1",
        manifest={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        phase=Phase.PRE_SYNC,
    )


def _chosen(pairs: Iterable[Pair], resources: tuple[SyncResource, ...]) -> Iterator[Pair]:
    """All where nothing is named; an entry without a namespace means any."""
    for pair in pairs:
        if not resources or any(_names(one, pair.key) for one in resources):
            yield pair


def _names(written: SyncResource, key: ResourceKey) -> bool:
    same = (written.group, written.kind, written.name) == (key.group, key.kind, key.name)
    return same and written.namespace in ("", key.namespace)


def _task(pair: Pair, options: SyncOptions) -> Task:
    manifest = pair.desired or (pair.live.manifest if pair.live else {})
    return Task(
        action=Action.APPLY if pair.desired is not None else Action.PRUNE,
        key=pair.key,
        version=pair.said.version,
        manifest=pair.desired or {},
        wave=pair.said.wave,
        prune_last=pair.desired is None and sync_options_of(manifest, options).prune_last,
        changed=pair.state not in (State.SAME, State.LEAVING),
    )


def _untouched(
    task: Task, pair: Pair, sync: SyncOperation, options: SyncOptions
) -> ResourceResult | None:
    if not pair.permitted:
        return result(task, ResultStatus.SYNC_FAILED, pair.denied)
    if task.action is not Action.PRUNE or pair.live is None:
        return None
    if sync_options_of(pair.live.manifest, options).prune is not Consent.YES:
        return result(task, ResultStatus.PRUNE_SKIPPED, "ignored (no prune)")
    if not sync.prune:
        return result(task, ResultStatus.PRUNE_SKIPPED, "ignored (requires pruning)")
    return None


def _is_namespace(key: ResourceKey, name: str) -> bool:
    return (key.group, key.kind, key.name) == ("", "Namespace", name)
