"""The last good renders: kept over a restart, forgotten with their application."""

from pathlib import Path

import msgspec
from msgspec.structs import replace

from agent.store.render_store import RenderStore
from bus.identity import NO_DIGEST, AppKey, Digest, RepositoryKey, Revision
from handlers.ports.render_record import RefRecord, RenderRecord, SourceRecord
from handlers.ports.rendering import SourceType

RECIPE = Digest("sha256:1")
WEB = AppKey("argocd", "web")
SHOP = RepositoryKey.of("https://git.example/shop")
OTHER = RepositoryKey.of("https://git.example/other")


def record(*paths: str, repository: RepositoryKey = SHOP) -> RenderRecord:
    return RenderRecord(
        app=WEB,
        sources=(
            SourceRecord(
                repository=repository,
                revision=Revision("0" * 40),
                recipe=RECIPE,
                source_type=SourceType.DIRECTORY,
                read_set=dict.fromkeys(paths, "1"),
            ),
        ),
        digest=NO_DIGEST,
        objects=1,
    )


async def test_a_record_and_its_readers_survive_a_restart(tmp_path: Path) -> None:
    await RenderStore.open(tmp_path).remember(record("a"))
    again = RenderStore.open(tmp_path)
    assert again.recall(WEB) == record("a")
    assert again.readers(SHOP, ["a"]) == {WEB}


async def test_a_new_record_replaces_the_old_readers(tmp_path: Path) -> None:
    store = RenderStore.open(tmp_path)
    await store.remember(record("a"))
    await store.remember(record("b"))
    assert store.readers(SHOP, ["a"]) == frozenset()
    await store.remember(record("b", repository=OTHER))
    assert store.readers(SHOP, ["b"]) == frozenset()
    assert store.readers(OTHER, ["b"]) == {WEB}


async def test_a_forgotten_application_leaves_nothing(tmp_path: Path) -> None:
    store = RenderStore.open(tmp_path)
    await store.remember(record("a"))
    await store.forget(WEB)
    await store.forget(WEB)
    assert store.recall(WEB) is None
    assert store.readers(SHOP, ["a"]) == frozenset()
    assert RenderStore.open(tmp_path).recall(WEB) is None


async def test_a_file_that_cannot_be_read_is_rendered_once_more(tmp_path: Path) -> None:
    await RenderStore.open(tmp_path).remember(record("a"))
    (tmp_path / f"{WEB.token}.json").write_bytes(b'{"app": ')
    assert RenderStore.open(tmp_path).recall(WEB) is None


async def test_an_application_reads_of_each_of_its_repositories(tmp_path: Path) -> None:
    (shop,) = record("a").sources
    (other,) = record("b", repository=OTHER).sources
    lent = replace(other, recipe=NO_DIGEST, read_set={})
    reading = replace(shop, refs={"values": RefRecord(OTHER, {"prod.yaml": "1"})})
    store = RenderStore.open(tmp_path)
    await store.remember(replace(record(), sources=(reading, lent), several=True))
    assert store.rendered(OTHER) == store.rendered(SHOP) == {WEB}
    assert store.readers(SHOP, ["a"]) == store.readers(OTHER, ["prod.yaml"]) == {WEB}
    assert store.readers(OTHER, ["b"]) == store.readers(SHOP, ["prod.yaml"]) == frozenset()
    again = RenderStore.open(tmp_path)
    assert again.recall(WEB) == store.recall(WEB)
    await again.forget(WEB)
    assert again.rendered(OTHER) == again.readers(OTHER, ["prod.yaml"]) == frozenset()


async def test_a_record_of_the_version_before_is_rendered_once_more(tmp_path: Path) -> None:
    before = {
        "app": {"namespace": "argocd", "name": "web"},
        "repository": "https://git.example/shop",
        "revision": "0" * 40,
        "recipe": "sha256:1",
        "read_set": {"a": "1"},
        "digest": "sha256:1",
        "objects": 1,
        "source_type": "Directory",
    }
    (tmp_path / f"{WEB.token}.json").write_bytes(msgspec.json.encode(before))
    assert RenderStore.open(tmp_path).recall(WEB) is None
    assert not list(tmp_path.iterdir())


async def test_applications_of_plugins_are_known_until_another_tool_renders_them(
    tmp_path: Path,
) -> None:
    by_plugin = record("a")
    source = replace(by_plugin.sources[0], plugin="cue", source_type=SourceType.PLUGIN)
    await RenderStore.open(tmp_path).remember(replace(by_plugin, sources=(source,)))
    store = RenderStore.open(tmp_path)
    assert store.by_plugins == {WEB}
    await store.remember(record("a"))
    assert store.by_plugins == set()
