"""A house that acts and is linked to a real service, and an administrator there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.flows.administrator import Administrator, administrator
from tests.flows.house import House
from tests.flows.near import allow, linked_by
from tests.service.world import World, open_service, settings


@dataclass(frozen=True, slots=True)
class Linked:
    house: House
    world: World
    admin: Administrator


@asynccontextmanager
async def linked_house(house: House, database_url: str, folder: Path) -> AsyncIterator[Linked]:
    """`house` is yet to be started; its agent is in the region `eu`."""
    quick = settings(database_url, roots_seconds=1.0)
    async with open_service(quick) as service:
        world = World(service)
        await allow(house)
        linked_by(await world.token(await world.agent(region="eu")), service.url, house, folder)
        async with administrator(world) as admin, house.running():
            yield Linked(house=house, world=world, admin=admin)
