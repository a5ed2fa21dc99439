"""`gitops`: the table of all commands. One module per verb, imported only when it is called."""

from __future__ import annotations

import sys

from cli.lazy import Group, Verb
from cli.unread import drop_output


def _far(module: str, command: str, summary: str) -> Verb:
    """A verb that asks the service one is logged in to."""
    return Verb(module=f"cli.far.{module}", command=command, summary=summary)


EPOCHS = Group(
    name="gitops agent epochs",
    summary="Clusters that do not resemble what is known of them.",
    verbs={
        "accept": _far("agent_epochs", "accept", "Confirm it: it replaces what was known."),
        "reject": _far("agent_epochs", "reject", "Forget it: what was known stays."),
    },
)

DELETIONS = Group(
    name="gitops agent deletions",
    summary="Deletions that were held because they were many at once.",
    verbs={"accept": _far("agent_deletions", "accept", "Believe them.")},
)

AGENT = Group(
    name="gitops agent",
    summary="Run the agent, check it, show its settings; the agents that the service knows.",
    verbs={
        "run": Verb(
            module="cli.run", function="run_agent", summary="Run the agent until told to stop."
        ),
        "check": Verb(module="cli.check", summary="What these settings reach, and may do there."),
        "settings": Verb(module="cli.settings", summary="The settings in force, secrets masked."),
        "list": _far("agents", "list", "The service's agents, those that are away first."),
        "get": _far("agent_one", "get", "One agent: its link, its parts, what may be done there."),
        "create": _far("agents", "create", "Make an agent and its one-time token."),
        "manifest": _far("agents", "manifest", "What installs an agent."),
        "revoke": _far("agents", "revoke", "Cut an agent's link now."),
        "rebuild": _far("agent_care", "rebuild", "Ask an agent for everything again."),
        "epochs": EPOCHS,
        "deletions": DELETIONS,
    },
)

APP = Group(
    name="gitops app",
    summary="Applications at the service: where they stand, and what to do with them.",
    verbs={
        "list": _far("app_list", "list", "Those that need a person first."),
        "get": _far("app_get", "get", "One of them: what runs, what is wrong, its objects."),
        "tree": _far("app_objects", "tree", "Its objects, down to the last pod."),
        "diff": _far("app_objects", "diff", "Desired beside live; exit code 1 if they differ."),
        "history": _far("app_history", "history", "What was deployed."),
        "create": _far("app_write", "create", "Create the Applications of a file."),
        "apply": _far("app_write", "apply", "Create or replace the Applications of a file."),
        "delete": _far("app_write", "delete", "Delete one, and what it deployed."),
        "sync": _far("app_orders", "sync", "Deploy the desired state now."),
        "refresh": _far("app_orders", "refresh", "Look at the source again."),
        "rollback": _far("app_orders", "rollback", "Sync to what was deployed before."),
        "terminate": _far("app_orders", "terminate", "End the operation that runs."),
        "wait": _far("app_wait", "wait", "Until it is Synced and Healthy."),
    },
)

PROJECT = Group(
    name="gitops project",
    summary="Argo CD's projects at the service: what may be deployed, from where, to where.",
    verbs={
        "list": _far("projects", "list", "Projects, with how many applications are of each."),
        "get": _far("projects", "get", "One of them, with its rules."),
        "create": _far("projects", "create", "Create the AppProjects of a file."),
        "apply": _far("projects", "apply", "Create or replace the AppProjects of a file."),
        "delete": _far("projects", "delete", "Delete one that no application is of."),
    },
)

TASK = Group(
    name="gitops task",
    summary="What was asked of agents, and what became of it.",
    verbs={
        "list": _far("tasks", "list", "The newest tasks."),
        "get": _far("tasks", "get", "One task with its result."),
        "cancel": _far("tasks", "cancel", "End a task."),
    },
)

AUDIT = Group(
    name="gitops audit",
    summary="Who did what; the proof that nobody changed the book.",
    verbs={
        "list": _far("audit", "list", "The newest records."),
        "export": _far("audit", "export", "All records as JSON lines."),
        "verify": _far("audit", "verify", "Walk the chain; exit code 1 if it is broken."),
    },
)

DRIFT = Group(
    name="gitops drift",
    summary="The drift ledger.",
    verbs={"list": _far("drifts", "list", "What differed, since when, by whom, how it ended.")},
)

CONTEXT = Group(
    name="gitops context",
    summary="The logins of this machine.",
    verbs={
        "list": _far("context", "list", "Every login; the current one is marked."),
        "use": _far("context", "use", "Let this login count from now on."),
    },
)

SERVICE = Group(
    name="gitops service",
    summary="Run the control plane; its database, its keys, and access to it.",
    verbs={
        "run": Verb(
            module="cli.service", function="run_service", summary="Serve until told to stop."
        ),
        "migrate": Verb(
            module="cli.service", function="migrate", summary="Bring the tables up to date."
        ),
        "new-key": Verb(
            module="cli.service_keys",
            command="new-key",
            summary="Make the file with the service's keys.",
        ),
        "rotate-key": Verb(
            module="cli.service_keys",
            command="rotate-key",
            summary="A new key signs the audit and encrypts columns.",
        ),
        "sign-audit": Verb(
            module="cli.service_keys",
            command="sign-audit",
            summary="Vouch for an audit that is not signed to its end.",
        ),
        "bind-agents": Verb(
            module="cli.service_keys",
            command="bind-agents",
            summary="Vouch for agents' keys that the service did not write.",
        ),
        "grant-role": Verb(
            module="cli.service_keys",
            command="grant-role",
            summary="Let a database role run the service that owns no table.",
        ),
        "grant-admin": Verb(
            module="cli.access_recovery",
            command="grant-admin",
            summary="Make a user administrator of the whole account.",
        ),
        "reset-password": Verb(
            module="cli.access_recovery",
            command="reset-password",
            summary="Set a user's password; sessions and API tokens end.",
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
        "login": _far("login", "login", "Log in at a service."),
        "logout": _far("login", "logout", "Log out."),
        "context": CONTEXT,
        "app": APP,
        "project": PROJECT,
        "task": TASK,
        "drift": DRIFT,
        "audit": AUDIT,
        "events": Verb(module="cli.events", summary="Replay and follow what happens."),
        "render": Verb(module="cli.render", summary="What an Application would deploy."),
        "diff": Verb(module="cli.diff", summary="Whether live objects hold what is desired."),
        "health": Verb(module="cli.health", summary="The health of objects."),
        "plan": Verb(module="cli.plan", summary="In which order objects would be applied."),
        "webhook": Verb(module="cli.webhook", summary="What a Git host's delivery says."),
        "version": Verb(
            module="cli.version", function="show_version", summary="The version of this program."
        ),
    },
    notes="Exit codes: 0 fine, 1 the answer is no, 2 wrong usage or input, 3 the service refuses\n"
    "or is away, 4 not logged in or not allowed, 5 timed out. See docs/cli.md.",
)


def main() -> None:
    """Run the command, and flush its answers while a reader who has left is still no failure."""
    output = sys.stdout
    try:
        code = _run(sys.argv[1:])
        output.flush()
        left = sys.stdout is not output  # Click has wrapped it, because its reader has left
    except BrokenPipeError:
        left, code = True, 0
    if left:
        drop_output(output)
    sys.exit(0 if left else code)


def _run(arguments: list[str]) -> int | str | None:
    """The exit code, also where a Typer leaves by SystemExit."""
    try:
        return GITOPS.run(_spelt_out(arguments))
    except SystemExit as e:
        return e.code


def _spelt_out(arguments: list[str]) -> list[str]:
    """`--version` is `version`, as programs have it; `help WORDS` is `WORDS --help`."""
    match arguments:
        case ["--version", *rest]:
            return ["version", *rest]
        case ["help", *words]:
            return [*words, "--help"]
        case _:
            return arguments
