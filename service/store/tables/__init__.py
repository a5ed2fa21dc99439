"""Every table of the service, in families by what is lost when their rows are.

- *access* and *settings*: the service's own truth; back them up.
- *agents*: identity, keys and epochs of the agents; back them up.
- *record*: tasks, audit, facts, drifts: what happened; back them up.
- *projection*: objects and what is derived from them: made again from the agents at any time.

No column holds a credential of a cluster or a repository. Times are timezone-aware.
"""

from service.store.tables.access import (
    accounts,
    api_tokens,
    bindings,
    known_devices,
    login_failures,
    organisations,
    principals,
    projects,
    resource_groups,
    roles,
    sessions,
)
from service.store.tables.agents import (
    agent_keys,
    agents,
    challenges,
    enrolment_tokens,
    epochs,
    service_keys,
)
from service.store.tables.columns import metadata
from service.store.tables.projection import applications, changes, instances, objects
from service.store.tables.record import (
    audit,
    audit_anchors,
    audit_checkpoints,
    drifts,
    facts,
    idempotency_keys,
    open_shells,
    tasks,
)
from service.store.tables.settings import deliveries, filters, webhooks

__all__ = [
    "accounts",
    "agent_keys",
    "agents",
    "api_tokens",
    "applications",
    "audit",
    "audit_anchors",
    "audit_checkpoints",
    "bindings",
    "challenges",
    "changes",
    "deliveries",
    "drifts",
    "enrolment_tokens",
    "epochs",
    "facts",
    "filters",
    "idempotency_keys",
    "instances",
    "known_devices",
    "login_failures",
    "metadata",
    "objects",
    "open_shells",
    "organisations",
    "principals",
    "projects",
    "resource_groups",
    "roles",
    "service_keys",
    "sessions",
    "tasks",
    "webhooks",
]
