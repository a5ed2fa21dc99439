"""An account keeps an administrator, whatever is taken away and by however many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from service.access.permissions import ALL
from service.auth.administrators import has_administrator
from service.store.tables import bindings, principals
from tests.service.api.world import Answered, Person, World

pytestmark = pytest.mark.flow


async def binding_of(world: World, who: Person) -> str:
    async with world.engine.connect() as connection:
        query = select(bindings.c.id).where(bindings.c.principal_id == who.id)
        return str(await connection.scalar(query))


async def is_administered(world: World) -> bool:
    async with world.engine.connect() as connection:
        return await has_administrator(connection, world.account)


def check_refused(answered: Answered) -> None:
    assert (answered.status, answered.body["rule"]) == (409, "last-administrator")
    assert "last administrator" in answered.body["detail"]
    assert "Make another person administrator" in answered.body["remedy"]


async def test_the_last_administrator_cannot_take_the_role_back(world: World) -> None:
    admin = await world.person("administrator")
    check_refused(await admin.call("DELETE", f"/bindings/{await binding_of(world, admin)}"))
    assert (await admin.get("/principals")).status == 200


async def test_one_of_two_administrators_may_go(world: World) -> None:
    admin, _ = await world.person("administrator"), await world.person("administrator")
    gone = await admin.call("DELETE", f"/bindings/{await binding_of(world, admin)}")
    assert gone.status == 204
    assert await is_administered(world)


async def no_other(world: World) -> None:
    """Nobody else has any role."""


async def a_viewer(world: World) -> None:
    await world.person("viewer")


async def a_disabled_one(world: World) -> None:
    other = await world.person("administrator")
    async with world.engine.begin() as connection:
        mine = principals.c.id == other.id
        await connection.execute(principals.update().where(mine).values(disabled=True))


async def one_without_password(world: World) -> None:
    other = await world.person("administrator")
    async with world.engine.begin() as connection:
        mine = principals.c.id == other.id
        await connection.execute(principals.update().where(mine).values(password_hash=""))


async def one_of_an_organisation(world: World) -> None:
    await world.person("administrator", organisation_id=world.organisation)


async def one_narrowed_by_labels(world: World) -> None:
    group = await world.put(
        "resource_groups", account_id=world.account, name="team", labels={"team": "a"}
    )
    await world.person("administrator", resource_group_id=group)


async def a_service_account(world: World) -> None:
    robot = await world.put("principals", account_id=world.account, kind="service", name="robot")
    await world.put(
        "bindings",
        account_id=world.account,
        principal_id=robot,
        role_id=world.roles[world.account + "administrator"],
    )
    until = world.clock() + timedelta(days=1)
    await world.token(robot, expires_at=until)


@pytest.mark.parametrize(
    "other",
    [
        no_other,
        a_viewer,
        a_disabled_one,
        one_without_password,
        one_of_an_organisation,
        one_narrowed_by_labels,
        a_service_account,
    ],
)
async def test_who_cannot_administer_everything_for_ever_is_no_other_administrator(
    world: World, other: Callable[[World], Awaitable[Any]]
) -> None:
    admin = await world.person("administrator")
    await other(world)
    check_refused(await admin.call("DELETE", f"/bindings/{await binding_of(world, admin)}"))


async def test_the_last_administrator_is_neither_deleted_nor_disabled_by_an_equal(
    world: World,
) -> None:
    """A service account may hold as much, and outlives nobody."""
    admin = await world.person("administrator")
    await a_service_account(world)
    (robot,) = [it for it in await world.rows("principals") if it.kind == "service"]
    token = {"Authorization": f"Bearer {await world.token(robot.id)}"}
    path = f"/principals/{admin.id}"
    check_refused(await world.call("DELETE", path, headers=token))
    check_refused(await world.call("PATCH", path, {"disabled": True, "version": 1}, headers=token))


async def test_a_role_keeps_what_the_last_administrator_has_by_it(world: World) -> None:
    role = await world.put("roles", account_id=world.account, name="boss", permissions=sorted(ALL))
    world.roles[world.account + "boss"] = role
    boss = await world.person("boss")
    check_refused(
        await boss.call("PATCH", f"/roles/{role}", {"permissions": ["access_view"], "version": 1})
    )
    await world.person("administrator")
    answered = await boss.call(
        "PATCH", f"/roles/{role}", {"permissions": ["access_view"], "version": 1}
    )
    assert answered.status == 200


async def test_two_who_remove_each_other_at_once_leave_one(world: World) -> None:
    for _ in range(5):
        one, two = await world.person("administrator"), await world.person("administrator")
        for it in await world.rows("bindings"):
            if it.principal_id not in (one.id, two.id):
                async with world.engine.begin() as connection:
                    await connection.execute(bindings.delete().where(bindings.c.id == it.id))
        of_one, of_two = await binding_of(world, one), await binding_of(world, two)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(one.call("DELETE", f"/bindings/{of_two}"))
            second = group.create_task(two.call("DELETE", f"/bindings/{of_one}"))
        statuses = sorted((first.result().status, second.result().status))
        assert statuses[0] == 204
        assert statuses[1] in (403, 404, 409)
        assert await is_administered(world)


async def test_an_account_without_administrator_is_not_held_up(world: World) -> None:
    """Only the operator can help it, and it must not get worse meanwhile."""
    editor = await world.person("administrator", organisation_id=world.organisation)
    viewer = await world.person("viewer", organisation_id=world.organisation)
    gone = await editor.call("DELETE", f"/bindings/{await binding_of(world, viewer)}")
    assert gone.status == 204
