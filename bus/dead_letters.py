"""Failed deliveries: how often each ended in a bug, when it is tried again, and its dead letter.

The server's own count does not serve: it also counts every `Retry`, which may go on for days. The
counts are forgotten with the process. A dead letter is an unhandled message, unchanged, with the
handler and the reason in headers.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from bus.carrier import Delivery
from bus.envelope import MESSAGE_ID, Message
from bus.subjects import AgentScope, Branch, Subject

_LONGEST_BACK_OFF = 60.0
_REMEMBERED = 10_000


@dataclass(slots=True)
class Failures:
    back_off: float
    """Seconds before the second attempt; doubled for each further one, up to a minute."""
    _counts: OrderedDict[tuple[str, int], int] = field(default_factory=OrderedDict)

    def add(self, handler: str, sequence: int) -> int:
        """Count one more failure; return how many there are now."""
        key = (handler, sequence)
        count = self._counts[key] = self._counts.pop(key, 0) + 1
        if len(self._counts) > _REMEMBERED:
            self._counts.popitem(last=False)
        return count

    def forget(self, handler: str, sequence: int) -> None:
        self._counts.pop((handler, sequence), None)

    def delay(self, count: int) -> float:
        return min(self.back_off * 2.0 ** (count - 1), _LONGEST_BACK_OFF)


REASON = "dead-reason"
HANDLER = "dead-handler"
SUBJECT = "dead-subject"
DELIVERIES = "dead-deliveries"
MAX_REASON = 1000


def dead_letter(scope: AgentScope, handler: str, delivery: Delivery, reason: str) -> Message:
    """Make the dead letter of a delivery.

    The letter's id follows from the delivery's, so that a crash after writing makes no second one.
    """
    origin = delivery.headers.get(MESSAGE_ID, "")
    headers = {
        **{name: text for name, text in delivery.headers.items() if not name.startswith("Nats-")},
        REASON: reason[:MAX_REASON],
        HANDLER: handler,
        SUBJECT: delivery.subject,
        DELIVERIES: str(delivery.deliveries),
        MESSAGE_ID: f"dead:{handler}:{delivery.sequence}:{origin}",
    }
    subject = Subject(scope=scope, branch=Branch.DEAD, words=(handler,))
    return Message(subject=str(subject), headers=headers, data=delivery.data)
