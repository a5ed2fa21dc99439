"""Dead letters: the original message, untouched, with who could not handle it and why."""

from __future__ import annotations

from bus.carrier import Delivery
from bus.codec import MESSAGE_ID, Message
from bus.subjects import Branch, Scope, Subject

REASON = "dead-reason"
ROOM = "dead-room"
SUBJECT = "dead-subject"
DELIVERIES = "dead-deliveries"
MAX_REASON = 1000


def dead_letter(scope: Scope, room: str, delivery: Delivery, reason: str) -> Message:
    """Its id repeats with the delivery, so that a crash after writing it makes no second letter."""
    origin = delivery.headers.get(MESSAGE_ID, "")
    headers = {
        **{name: text for name, text in delivery.headers.items() if not name.startswith("Nats-")},
        REASON: reason[:MAX_REASON],
        ROOM: room,
        SUBJECT: delivery.subject,
        DELIVERIES: str(delivery.deliveries),
        MESSAGE_ID: f"dead:{room}:{delivery.sequence}:{origin}",
    }
    subject = Subject(scope=scope, branch=Branch.DEAD, words=(room,))
    return Message(subject=str(subject), headers=headers, data=delivery.data)
