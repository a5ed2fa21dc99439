"""Outgoing requests: what the service sends to addresses that customers name, by one client.

Whatever the service asks of somebody else goes through `OutgoingClient`; a test of the repository
fails where another module makes a client of its own.
"""

from service.outgoing.client import OutgoingAnswer, OutgoingClient, open_client
from service.outgoing.target import AddressPolicy, InvalidTargetError, parse_target

__all__ = [
    "AddressPolicy",
    "InvalidTargetError",
    "OutgoingAnswer",
    "OutgoingClient",
    "open_client",
    "parse_target",
]
