"""JetStream is the carrier: only this package knows NATS, other packages open a `Bus`."""

from __future__ import annotations

from bus.jetstream.bus import Bus, DispatchOptions
from bus.jetstream.connection import BusSettings, CarrierUnreachableError

__all__ = ["Bus", "BusSettings", "CarrierUnreachableError", "DispatchOptions"]
