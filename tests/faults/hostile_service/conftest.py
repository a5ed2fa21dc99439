"""A control plane that means harm: it speaks the link's protocol and says whatever it likes.

The agent is a real one on a real API server, with rights on everything, so that nothing but the
policy of the cluster's owner is in the way. The owner permits the namespace `destination` only.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bridge.farend import FarEnd
from tests.faults.hostile_service.hostile import Hostile
from tests.flows.conftest import definitions, far, quiet_house
from tests.flows.house import House
from tests.flows.near import acting, allow, linked_to

__all__ = ["definitions", "far", "quiet_house"]


@pytest.fixture
async def hostile(quiet_house: House, far: FarEnd, tmp_path: Path) -> AsyncIterator[Hostile]:
    victim = f"victim-{uuid.uuid4().hex[:8]}"
    house = quiet_house
    await house.api.create_namespace(victim)
    watched = (house.namespace, house.destination, victim)
    house.settings = house.settings.model_copy(update={"destination_namespaces": watched})
    await allow(house, namespaces=house.destination)
    async with acting(linked_to(far, house, tmp_path), far) as near:
        yield Hostile(near, victim)
    await house.api.delete(f"/api/v1/namespaces/{victim}")
