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
from tests.service.api.api_fixture import ApiAnswer, ApiFixture, ApiPerson


async def binding_of(api: ApiFixture, who: ApiPerson) -> str:
    async with api.engine.connect() as connection:
        query = select(bindings.c.id).where(bindings.c.principal_id == who.id)
        return str(await connection.scalar(query))


async def is_administered(api: ApiFixture) -> bool:
    async with api.engine.connect() as connection:
        return await has_administrator(connection, api.account)


def check_refused(answered: ApiAnswer) -> None:
    assert (answered.status, answered.body["rule"]) == (409, "last-administrator")
    assert "last administrator" in answered.body["detail"]
    assert "Make another person administrator" in answered.body["remedy"]


async def test_the_last_administrator_cannot_take_the_role_back(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    check_refused(await admin.call("DELETE", f"/bindings/{await binding_of(api, admin)}"))
    assert (await admin.get("/principals")).status == 200


async def test_one_of_two_administrators_may_go(api: ApiFixture) -> None:
    admin, _ = await api.person("administrator"), await api.person("administrator")
    gone = await admin.call("DELETE", f"/bindings/{await binding_of(api, admin)}")
    assert gone.status == 204
    assert await is_administered(api)


async def no_other(api: ApiFixture) -> None:
    """Nobody else has any role."""


async def a_viewer(api: ApiFixture) -> None:
    await api.person("viewer")


async def a_disabled_one(api: ApiFixture) -> None:
    other = await api.person("administrator")
    async with api.engine.begin() as connection:
        mine = principals.c.id == other.id
        await connection.execute(principals.update().where(mine).values(disabled=True))


async def one_without_password(api: ApiFixture) -> None:
    other = await api.person("administrator")
    async with api.engine.begin() as connection:
        mine = principals.c.id == other.id
        await connection.execute(principals.update().where(mine).values(password_hash=""))


async def one_of_an_organisation(api: ApiFixture) -> None:
    await api.person("administrator", organisation_id=api.organisation)


async def one_narrowed_by_labels(api: ApiFixture) -> None:
    group = await api.put(
        "resource_groups", account_id=api.account, name="team", labels={"team": "a"}
    )
    await api.person("administrator", resource_group_id=group)


async def a_service_account(api: ApiFixture) -> None:
    robot = await api.put("principals", account_id=api.account, kind="service", name="robot")
    await api.put(
        "bindings",
        account_id=api.account,
        principal_id=robot,
        role_id=api.roles[api.account + "administrator"],
    )
    until = api.clock() + timedelta(days=1)
    await api.token(robot, expires_at=until)


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
async def test_an_administrator_with_limits_does_not_count_as_another_one(
    api: ApiFixture, other: Callable[[ApiFixture], Awaitable[Any]]
) -> None:
    admin = await api.person("administrator")
    await other(api)
    check_refused(await admin.call("DELETE", f"/bindings/{await binding_of(api, admin)}"))


async def test_the_last_administrator_is_neither_deleted_nor_disabled_by_an_equal(
    api: ApiFixture,
) -> None:
    """A service account may hold as much, and outlives nobody."""
    admin = await api.person("administrator")
    await a_service_account(api)
    (robot,) = [it for it in await api.rows("principals") if it.kind == "service"]
    token = {"Authorization": f"Bearer {await api.token(robot.id)}"}
    path = f"/principals/{admin.id}"
    check_refused(await api.call("DELETE", path, headers=token))
    check_refused(await api.call("PATCH", path, {"disabled": True, "version": 1}, headers=token))


async def test_a_role_keeps_what_the_last_administrator_has_by_it(api: ApiFixture) -> None:
    role = await api.put("roles", account_id=api.account, name="boss", permissions=sorted(ALL))
    api.roles[api.account + "boss"] = role
    boss = await api.person("boss")
    check_refused(
        await boss.call("PATCH", f"/roles/{role}", {"permissions": ["access_view"], "version": 1})
    )
    await api.person("administrator")
    answered = await boss.call(
        "PATCH", f"/roles/{role}", {"permissions": ["access_view"], "version": 1}
    )
    assert answered.status == 200


async def test_two_administrators_who_remove_each_other_at_once_leave_one(api: ApiFixture) -> None:
    for _ in range(5):
        one, two = await api.person("administrator"), await api.person("administrator")
        for it in await api.rows("bindings"):
            if it.principal_id not in (one.id, two.id):
                async with api.engine.begin() as connection:
                    await connection.execute(bindings.delete().where(bindings.c.id == it.id))
        of_one, of_two = await binding_of(api, one), await binding_of(api, two)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(one.call("DELETE", f"/bindings/{of_two}"))
            second = group.create_task(two.call("DELETE", f"/bindings/{of_one}"))
        statuses = sorted((first.result().status, second.result().status))
        assert statuses[0] == 204
        assert statuses[1] in (403, 404, 409)
        assert await is_administered(api)


async def test_an_account_without_administrator_is_not_held_up(api: ApiFixture) -> None:
    """Only the operator can help it, and it must not get worse meanwhile."""
    editor = await api.person("administrator", organisation_id=api.organisation)
    viewer = await api.person("viewer", organisation_id=api.organisation)
    gone = await editor.call("DELETE", f"/bindings/{await binding_of(api, viewer)}")
    assert gone.status == 204
