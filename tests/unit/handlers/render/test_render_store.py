"""The last good renders: kept over a restart, forgotten with their application."""

from pathlib import Path

from msgspec.structs import replace

from agent.store.render_store import RenderStore
from bus.identity import NO_DIGEST, AppKey, RepositoryKey, Revision
from handlers.ports.rendering import RenderRecord, SourceType

WEB = AppKey("argocd", "web")
SHOP = RepositoryKey.of("https://git.example/shop")
OTHER = RepositoryKey.of("https://git.example/other")


def record(*paths: str) -> RenderRecord:
    return RenderRecord(
        app=WEB,
        repository=SHOP,
        revision=Revision("0" * 40),
        recipe=NO_DIGEST,
        read_set=dict.fromkeys(paths, "1"),
        digest=NO_DIGEST,
        objects=1,
        source_type=SourceType.DIRECTORY,
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
    await store.remember(replace(record("b"), repository=OTHER))
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
