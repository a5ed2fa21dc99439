"""The carrier: everything that knows NATS. The rest of the house opens a `Bus`, no more."""

from __future__ import annotations

from bus.jetstream.bus import Bus, DispatchOptions
from bus.jetstream.connection import CarrierUnreachableError
from bus.jetstream.settings import BusSettings

__all__ = ["Bus", "BusSettings", "CarrierUnreachableError", "DispatchOptions"]
