"""handlers: what the agent decides. Read routes.py first, then the handler that you came for.

    routes                               the routing table: event -> handler
    refresh, render, compare, sync,      the handlers: a module each, or a package with the pure
    health, delete, command              decisions behind `handler.py` and `step.py`
    comparison, report                   decisions that several handlers or the bridge share
    control_plane, fact_journal          the owner's policy; facts noted beside a status write
    ports                                what handlers ask of the outside, as small Protocols
    application, manifest, trust         values: Argo CD's resources, Kubernetes objects, keys

Imports go downwards in this list only, and no handler imports another (pyproject.toml checks it).
Only the handlers and what reads or writes for them use `async`; everything else is pure.
"""
