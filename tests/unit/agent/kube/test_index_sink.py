from __future__ import annotations

import asyncio
from typing import Any

import orjson

from agent.kube.index import LiveIndex
from agent.kube.watch_scope import WatchScope
from agent.kube.watches import IndexSink
from handlers.manifest.kinds import KindInfo
from tests.unit.agent.kube.object_samples import config_map, live

MAPS = KindInfo(group="", version="v1", kind="ConfigMap", plural="configmaps", namespaced=True)
SCOPE = WatchScope(group="", kind="ConfigMap")


def item(name: str, **words: Any) -> bytes:
    """As in a list: without the kind, which the list itself says."""
    manifest = config_map(name, **words)
    del manifest["apiVersion"], manifest["kind"]
    return orjson.dumps(manifest)


def test_a_list_makes_the_index_equal_to_it() -> None:
    index = LiveIndex("argocd")
    index.put(live("gone"))
    index.put(live("kept"))
    sink = IndexSink(index, MAPS, SCOPE, None)

    sink.begin_list()
    for raw in (item("kept"), item("new")):
        sink.put(raw)
    sink.end_list("15")

    assert set(index.of_kind("", "ConfigMap")) == {live("kept"), live("new")}


def test_what_the_index_has_already_is_left_as_it_is() -> None:
    index = LiveIndex("argocd")
    here = live("kept")
    index.put(here)

    IndexSink(index, MAPS, SCOPE, None).put(item("kept"))

    assert index.get(here.key) is here


def test_the_same_object_in_another_version_of_its_kind_is_taken() -> None:
    index = LiveIndex("argocd")
    index.put(live("kept"))
    newer = KindInfo(group="", version="v2", kind="ConfigMap", plural="c", namespaced=True)

    IndexSink(index, newer, SCOPE, None).put(item("kept"))

    found = index.get(live("kept").key)
    assert found is not None
    assert found.version == "v2"


def test_each_change_of_a_definition_is_told() -> None:
    changed = asyncio.Event()
    sink = IndexSink(LiveIndex("argocd"), MAPS, SCOPE, changed)

    sink.put(item("one"))
    assert changed.is_set()

    changed.clear()
    sink.remove(item("one"))
    assert changed.is_set()
