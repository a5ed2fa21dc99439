"""What an agent trusts, as a state of the link: described, with nothing that was written. Pure."""

from __future__ import annotations

import msgspec

from bus.link import Item
from handlers.application.application import Metadata
from handlers.report.items import Stamp, state_body, state_item
from handlers.report.redaction import Redaction
from handlers.trust.trusted import Trusted

_IDENTITY = frozenset({"kind", "name"})


def trusted_item(found: Trusted, namespace: str, stamp: Stamp, redaction: Redaction) -> Item:
    metadata = Metadata(namespace=namespace, name=found.name)
    told = {name: it for name, it in msgspec.to_builtins(found).items() if name not in _IDENTITY}
    body = state_body(found.kind, metadata, redaction)
    body = msgspec.structs.replace(body, spec=redaction.value(told))
    return state_item(body, metadata, "", stamp)
