"""The link under a thousand faults, seeded; after quiet both sides hold the same.

More of them: GITOPS_LINK_FAULTS=100000. One walk again, by the seed in its name:
GITOPS_LINK_SEED=17 GITOPS_LINK_FAULTS=50.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from bus.jetstream import Bus
from service.store.database import open_engine
from tests.service.link.agent_side import new_agent_side
from tests.service.link.fault_walk import FaultWalk, VirtualTime
from tests.service.link.service_side import ServiceSide, names
from tests.unit.bus.dispatch_fixture import settings_of

FAULTS = int(os.environ.get("GITOPS_LINK_FAULTS", "1000"))
SEED = int(os.environ.get("GITOPS_LINK_SEED", "0"))
_PER_WALK, _PER_LEG = 50, 25
SEEDS = range(SEED, SEED + -(-FAULTS // _PER_WALK))


@pytest.mark.parametrize("seed", SEEDS)
async def test_after_quiet_both_sides_hold_the_same(
    database_url: str, nats_url: str, seed: int
) -> None:
    chance, time = Random(seed), VirtualTime()  # noqa: S311  a seed, no secret
    account, agent = names()
    async with open_engine(database_url, 2) as engine, Bus.open(settings_of(nats_url)) as bus:
        service_side = ServiceSide(
            engine=engine, clock=lambda: time.now + time.service_side, account=account, agent=agent
        )
        agent_side = await new_agent_side(bus, chance=chance, account=account, agent=agent)
        walk = FaultWalk(chance=chance, time=time, agent_side=agent_side, service_side=service_side)
        await service_side.begin()
        try:
            while walk.faults.count < _PER_WALK:
                await walk.rough(min(walk.faults.count + _PER_LEG, _PER_WALK))
                await walk.quiet()
                await walk.check()
        except Exception as error:
            error.add_note(f"GITOPS_LINK_SEED={seed} GITOPS_LINK_FAULTS={_PER_WALK}")
            error.add_note(f"after {dict(walk.faults.done)}")
            raise
