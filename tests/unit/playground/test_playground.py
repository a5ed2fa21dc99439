from pathlib import Path

import nats
import pytest
import redis.asyncio

from playground.playground import PartNotOpenError, PlaygroundPart, open_playground
from playground.postgres import postgres_server
from playground.server import Server

pytestmark = pytest.mark.usefixtures("own_servers")


async def test_the_chosen_parts_are_open_and_closed_together(tmp_path: Path) -> None:
    parts = {
        PlaygroundPart.NATS,
        PlaygroundPart.REDIS,
        PlaygroundPart.POSTGRES,
        PlaygroundPart.GIT,
        PlaygroundPart.KUBERNETES_API,
    }
    async with open_playground(parts, tmp_path) as playground:
        servers = [playground.nats, playground.redis, playground.postgres]
        assert all(server.child.running for server in servers)
        assert playground.git.create("acme/web").commit({"a": "1"})
        async with playground.kubernetes.api() as api:
            assert await api.exists("/api/v1/namespaces/default")
    assert not any(server.child.running for server in servers)


async def test_a_part_that_was_not_chosen_is_an_error(tmp_path: Path) -> None:
    async with open_playground({PlaygroundPart.REDIS}, tmp_path) as playground:
        with pytest.raises(PartNotOpenError, match="nats"):
            _ = playground.nats


async def test_a_part_that_fails_to_open_closes_the_others(tmp_path: Path) -> None:
    (tmp_path / "redis").write_text("a file where the folder should be")
    with pytest.raises(ExceptionGroup) as failed:
        async with open_playground({PlaygroundPart.NATS, PlaygroundPart.REDIS}, tmp_path):
            pass
    assert failed.group_contains(FileExistsError)
    assert not servers_below(tmp_path)


async def test_a_world_without_a_folder_leaves_none() -> None:
    async with open_playground({PlaygroundPart.REDIS}) as playground:
        assert playground.folder.exists()
    assert not playground.folder.exists()


async def test_jetstream_keeps_its_messages_over_a_crash(own_nats: Server) -> None:
    connection = await nats.connect(own_nats.url)
    stream = connection.jetstream()
    await stream.add_stream(name="KEPT", subjects=["kept.>"])
    await stream.publish("kept.1", b"one")
    await connection.close()
    own_nats.kill()
    await own_nats.start()
    connection = await nats.connect(own_nats.url)
    state = (await connection.jetstream().stream_info("KEPT")).state
    await connection.close()
    assert state.messages == 1


async def test_redis_answers(redis_url: str) -> None:
    async with redis.asyncio.from_url(redis_url) as client:
        await client.set("test:redis_answers", "yes")
        assert await client.get("test:redis_answers") == b"yes"


async def test_nats_answers(nats_url: str) -> None:
    connection = await nats.connect(nats_url)
    assert connection.is_connected
    await connection.close()


async def test_postgres_is_ready_when_it_is_open_and_gone_after(tmp_path: Path) -> None:
    async with postgres_server(tmp_path) as server:
        assert server.child.running
        pid = server.child.pid
    assert not exists(pid)


def exists(pid: int | None) -> bool:
    return Path(f"/proc/{pid}").exists()


def servers_below(folder: Path) -> list[str]:
    lines = [line for process in Path("/proc").glob("[0-9]*") for line in command_line(process)]
    return [line.decode() for line in lines if str(folder).encode() in line]


def command_line(process: Path) -> list[bytes]:
    try:
        return [(process / "cmdline").read_bytes()]
    except OSError:
        return []  # it ended meanwhile
