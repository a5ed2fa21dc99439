"""Keys in the cluster: made once, enrolled once, replaced with overlap, enrolled anew."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from agent.bridge.enrol import Introduction
from agent.bridge.keeping import SECRET, BrokenKeysError, Keeping
from agent.bridge.link import LinkRefusedError
from agent.bridge.outside import Outside, Place, outside
from agent.clock import SystemClock
from agent.kube.client import KubeClient, kube_client
from agent.kube.config import connect
from playground.kubernetes import ControlPlane
from tests.bridge.farend import FarEnd

pytestmark = pytest.mark.flow


@dataclass
class Door:
    far: FarEnd
    way: Outside
    client: KubeClient
    namespace: str
    token: Path

    def introduction(self, lifetime: timedelta = timedelta(days=1)) -> Introduction:
        """As a process that has just begun."""
        return Introduction(
            way=self.way,
            keeping=Keeping(client=self.client, namespace=self.namespace),
            clock=SystemClock(),
            token_file=self.token,
            cluster_uid="u",
            version="1",
            key_lifetime=lifetime,
        )


@pytest.fixture
async def door(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> AsyncIterator[Door]:
    connection = await connect(control_plane.kubeconfig)
    async with (
        FarEnd().open() as far,
        outside(Place(url=far.url)) as way,
        kube_client(connection) as client,
    ):
        token = tmp_path / "token"
        token.write_text(far.token)
        yield Door(far, way, client, namespace, token)


async def test_a_second_start_needs_no_token(door: Door) -> None:
    first = await door.introduction().known()
    door.token.unlink()
    assert await door.introduction().known() == first
    assert door.far.enrolments == 1


async def test_a_key_is_replaced_and_the_new_one_is_used_and_kept(door: Door) -> None:
    before = await door.introduction().known()
    await door.introduction(lifetime=timedelta(0)).session()
    after = await door.introduction().known()
    assert after.public_key != before.public_key
    assert (after.key_id, after.next_seed, after.sealing_seed) == ("key-2", "", before.sealing_seed)
    await door.introduction().session()


async def test_where_the_answer_to_a_replacement_is_lost_the_old_key_still_opens(
    door: Door,
) -> None:
    await door.introduction().known()
    cut_off = door.introduction(lifetime=timedelta(0))
    await cut_off._with_successor(await cut_off.known())
    await door.introduction().session()
    assert (await door.introduction().known()).next_seed == ""


async def test_a_refused_agent_enrols_again_with_a_new_token_only(door: Door) -> None:
    await door.introduction().known()
    door.far.keys.clear()
    with pytest.raises(LinkRefusedError, match="unknown key"):
        await door.introduction().session()
    door.token.write_text(door.far.token)
    await door.introduction().session()
    assert door.far.enrolments == 2


async def test_without_a_token_it_says_what_to_do(door: Door) -> None:
    door.token.unlink()
    with pytest.raises(LinkRefusedError, match="GITOPS_LINK_TOKEN_FILE"):
        await door.introduction().known()


async def test_a_secret_that_is_not_ours_is_left_alone(door: Door) -> None:
    path = f"/api/v1/namespaces/{door.namespace}/secrets"
    await door.client.create(path, b'{"metadata": {"name": "%s"}}' % SECRET.encode())
    with pytest.raises(BrokenKeysError, match="delete it"):
        await door.introduction().known()
