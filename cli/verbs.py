"""The table of all commands: one module per verb, imported only when it is called."""

from __future__ import annotations

from cli.lazy import LazyGroup, LazyVerb
from cli.service_verbs import (
    APP,
    AUDIT,
    CLUSTER,
    CONTEXT,
    DELETIONS,
    DRIFT,
    EPOCHS,
    PROJECT,
    REPOSITORY,
    TASK,
    remote,
)

AGENT = LazyGroup(
    name="gitops agent",
    summary="Run and check an agent here; manage the agents of the service.",
    verbs={
        "run": LazyVerb(
            module="cli.local.run",
            function="run_agent",
            summary="Run the agent until told to stop.",
        ),
        "check": LazyVerb(
            module="cli.local.check",
            summary="Check what the settings reach, and what is permitted there.",
        ),
        "settings": LazyVerb(
            module="cli.local.settings", summary="Show the settings in force, secrets masked."
        ),
        "list": remote("agents", "list", "List the service's agents, those that are away first."),
        "get": remote("agent_get", "get", "Show one agent: its link, components and permissions."),
        "create": remote("agents", "create", "Create an agent and its one-time token."),
        "manifest": remote("agents", "manifest", "Print the manifests that install an agent."),
        "revoke": remote("agents", "revoke", "Cut an agent's link now."),
        "rebuild": remote("agent_care", "rebuild", "Ask an agent for everything again."),
        "epochs": EPOCHS,
        "deletions": DELETIONS,
    },
)

SERVICE = LazyGroup(
    name="gitops service",
    summary="Run the control plane; manage its database, keys and access.",
    verbs={
        "run": LazyVerb(
            module="cli.service",
            function="run_service",
            summary="Run the service until told to stop.",
        ),
        "migrate": LazyVerb(
            module="cli.service", function="migrate", summary="Bring the tables up to date."
        ),
        "new-key": LazyVerb(
            module="cli.service_keys",
            command="new-key",
            summary="Create the file with the service's keys.",
        ),
        "rotate-key": LazyVerb(
            module="cli.service_keys",
            command="rotate-key",
            summary="Add a key that signs the audit and encrypts columns.",
        ),
        "sign-audit": LazyVerb(
            module="cli.service_keys",
            command="sign-audit",
            summary="Vouch for an audit that is not signed to its end.",
        ),
        "bind-agents": LazyVerb(
            module="cli.service_keys",
            command="bind-agents",
            summary="Vouch for agents' keys that the service did not write.",
        ),
        "grant-role": LazyVerb(
            module="cli.service_keys",
            command="grant-role",
            summary="Let a database role run the service that owns no table.",
        ),
        "grant-admin": LazyVerb(
            module="cli.access_recovery",
            command="grant-admin",
            summary="Make a user administrator of the whole account.",
        ),
        "reset-password": LazyVerb(
            module="cli.access_recovery",
            command="reset-password",
            summary="Set a user's password; sessions and API tokens end.",
        ),
    },
)

ACTIONS = LazyGroup(
    name="gitops actions",
    summary="Look into the actions of objects.",
    verbs={
        "list": LazyVerb(module="cli.local.actions", command="list", summary="List actions."),
        "run": LazyVerb(
            module="cli.local.actions", command="run", summary="Show what an action would change."
        ),
    },
)

WEBHOOK = LazyGroup(
    name="gitops webhook",
    summary="Look into deliveries of Git hosts.",
    verbs={
        "parse": LazyVerb(module="cli.local.webhook", command="parse", summary="Parse deliveries.")
    },
)

GITOPS = LazyGroup(
    name="gitops",
    summary="An event-driven GitOps agent. Argo CD's resources, unchanged.",
    verbs={
        "demo": LazyVerb(
            module="cli.local.demo",
            summary="Open a playground on this machine: push, watch, follow.",
        ),
        "agent": AGENT,
        "service": SERVICE,
        "login": remote("login", "login", "Log in to a service."),
        "logout": remote("login", "logout", "Log out."),
        "context": CONTEXT,
        "app": APP,
        "project": PROJECT,
        "cluster": CLUSTER,
        "repo": REPOSITORY,
        "task": TASK,
        "drift": DRIFT,
        "audit": AUDIT,
        "events": LazyVerb(
            module="cli.events", summary="Replay recent events and follow new ones."
        ),
        "render": LazyVerb(
            module="cli.local.render", summary="Print what an Application would deploy."
        ),
        "diff": LazyVerb(module="cli.local.diff", summary="Compare desired with live objects."),
        "health": LazyVerb(module="cli.local.health", summary="Assess the health of objects."),
        "actions": ACTIONS,
        "plan": LazyVerb(
            module="cli.local.plan", summary="Show in which order objects would be applied."
        ),
        "webhook": WEBHOOK,
        "completion": LazyVerb(
            module="cli.completion_scripts", summary="Print the completion script of a shell."
        ),
        "version": LazyVerb(
            module="cli.main",
            function="show_version",
            summary="Show the version of this program.",
        ),
    },
    notes="Exit codes: 0 fine, 1 the answer is no, 2 wrong usage or input, 3 the service refuses\n"
    "or is away, 4 not logged in or not allowed, 5 timed out. See docs/cli.md.",
)
