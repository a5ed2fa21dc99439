"""`gitops`: the table of all commands. One module per verb, imported only when it is called."""

from __future__ import annotations

import os
import sys

from cli.lazy import Group, Verb

AGENT = Group(
    name="gitops agent",
    summary="Run the agent; check what it can reach; show its settings.",
    verbs={
        "run": Verb(
            module="cli.run", function="run_agent", summary="Run the agent until told to stop."
        ),
        "check": Verb(module="cli.check", summary="What these settings reach, and may do there."),
        "settings": Verb(module="cli.settings", summary="The settings in force, secrets masked."),
    },
)

SERVICE = Group(
    name="gitops service",
    summary="Run the control plane; bring its database up to date.",
    verbs={
        "run": Verb(
            module="cli.service", function="run_service", summary="Serve until told to stop."
        ),
        "migrate": Verb(
            module="cli.service", function="migrate", summary="Bring the tables up to date."
        ),
    },
)

GITOPS = Group(
    name="gitops",
    summary="An event-driven GitOps agent. Argo CD's resources, unchanged.",
    verbs={
        "demo": Verb(module="cli.demo", summary="A world on this machine: push, watch, follow."),
        "agent": AGENT,
        "service": SERVICE,
        "events": Verb(module="cli.events", summary="Replay and follow what happens."),
        "render": Verb(module="cli.render", summary="What an Application would deploy."),
        "diff": Verb(module="cli.diff", summary="Whether live objects hold what is desired."),
        "health": Verb(module="cli.health", summary="The health of objects."),
        "plan": Verb(module="cli.plan", summary="In which order objects would be applied."),
        "webhook": Verb(module="cli.webhook", summary="What a Git host's delivery says."),
    },
    notes="Exit codes: 0 fine, 1 the answer is no, 2 wrong usage or input. See docs/cli.md.",
)


def main() -> None:
    try:
        code = GITOPS.run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our answers has seen enough, e.g. `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)
