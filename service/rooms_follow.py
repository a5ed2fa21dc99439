"""Who follows the projection, in this order, in the transaction of each batch."""

from __future__ import annotations

from service.audit.outcomes import follow_results
from service.history.follow import follow_batch
from service.projection.follow import Follower

FOLLOWERS: tuple[Follower, ...] = (follow_batch, follow_results)
