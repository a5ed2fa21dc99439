"""The table of all commands: one module per verb, imported only when it is called."""

from __future__ import annotations

from cli.lazy import LazyGroup, LazyVerb


def _remote(module: str, command: str, summary: str) -> LazyVerb:
    """Make a verb that uses the service of the current login."""
    return LazyVerb(module=f"cli.remote.{module}", command=command, summary=summary)


EPOCHS = LazyGroup(
    name="gitops agent epochs",
    summary="Decide about clusters that do not resemble what is known of them.",
    verbs={
        "accept": _remote(
            "agent_epochs", "accept", "Accept the cluster: it replaces what was known."
        ),
        "reject": _remote("agent_epochs", "reject", "Reject the cluster: what was known stays."),
    },
)

DELETIONS = LazyGroup(
    name="gitops agent deletions",
    summary="Decide about deletions that were held because they were many at once.",
    verbs={"accept": _remote("agent_care", "accept", "Accept the held deletions.")},
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
        "list": _remote("agents", "list", "List the service's agents, those that are away first."),
        "get": _remote("agent_get", "get", "Show one agent: its link, components and permissions."),
        "create": _remote("agents", "create", "Create an agent and its one-time token."),
        "manifest": _remote("agents", "manifest", "Print the manifests that install an agent."),
        "revoke": _remote("agents", "revoke", "Cut an agent's link now."),
        "rebuild": _remote("agent_care", "rebuild", "Ask an agent for everything again."),
        "epochs": EPOCHS,
        "deletions": DELETIONS,
    },
)

APP_ACTIONS = LazyGroup(
    name="gitops app actions",
    summary="List and run the actions of one live object.",
    verbs={
        "list": _remote("app_live", "list", "List the actions of one live object."),
        "run": _remote("app_live", "run", "Run an action on one live object."),
    },
)

APP_OBJECT = LazyGroup(
    name="gitops app object",
    summary="Change or delete one live object of an application.",
    verbs={
        "edit": _remote("app_live", "edit", "Change one live object by a JSON merge patch."),
        "delete": _remote("app_live", "delete", "Delete one live object."),
    },
)

APP = LazyGroup(
    name="gitops app",
    summary="Look at applications by way of the service, and act on them.",
    verbs={
        "list": _remote("app_list", "list", "List applications, those that need a person first."),
        "get": _remote(
            "app_get", "get", "Show one application: what runs, what is wrong, its objects."
        ),
        "tree": _remote(
            "app_objects", "tree", "Show the objects and what they own, down to the last pod."
        ),
        "resources": _remote(
            "app_objects", "resources", "List the objects that an application manages."
        ),
        "manifests": _remote("app_manifests", "manifests", "Print the manifests that Git wants."),
        "logs": _remote("app_logs", "logs", "Print the logs of the pods."),
        "diff": _remote(
            "app_objects", "diff", "Compare desired with live; exit code 1 if they differ."
        ),
        "history": _remote("app_rollback", "history", "List what was deployed."),
        "create": _remote("app_write", "create", "Create the Applications of a file."),
        "apply": _remote("app_write", "apply", "Create or replace the Applications of a file."),
        "delete": _remote("app_write", "delete", "Delete an application and what it deployed."),
        "sync": _remote("app_sync", "sync", "Deploy the desired state now."),
        "refresh": _remote("app_write", "refresh", "Look at the source again."),
        "rollback": _remote("app_rollback", "rollback", "Sync to what was deployed before."),
        "terminate": _remote("app_write", "terminate", "End the operation that runs."),
        "confirm-deletion": _remote(
            "app_write", "confirm-deletion", "Approve the deletions that wait for a person."
        ),
        "actions": APP_ACTIONS,
        "object": APP_OBJECT,
        "wait": _remote("app_wait", "wait", "Wait until an application is Synced and Healthy."),
    },
)

PROJECT = LazyGroup(
    name="gitops project",
    summary="Manage AppProjects: what may be deployed, from where, to where.",
    verbs={
        "list": _remote(
            "projects", "list", "List projects, with the number of their applications."
        ),
        "get": _remote("projects", "get", "Show one project with its rules."),
        "create": _remote("projects", "create", "Create the AppProjects of a file."),
        "apply": _remote("projects", "apply", "Create or replace the AppProjects of a file."),
        "delete": _remote("projects", "delete", "Delete a project without applications."),
    },
)

TASK = LazyGroup(
    name="gitops task",
    summary="Look at tasks of agents, and cancel them.",
    verbs={
        "list": _remote("tasks", "list", "List the newest tasks."),
        "get": _remote("tasks", "get", "Show one task with its result."),
        "cancel": _remote("tasks", "cancel", "Cancel a task."),
    },
)

AUDIT = LazyGroup(
    name="gitops audit",
    summary="Read the audit log, and prove that nobody changed it.",
    verbs={
        "list": _remote("audit", "list", "List the newest records."),
        "export": _remote("audit", "export", "Print all records as lines of JSON."),
        "verify": _remote(
            "audit", "verify", "Verify the chain of records; exit code 1 if it is broken."
        ),
    },
)

DRIFT = LazyGroup(
    name="gitops drift",
    summary="Read the drift ledger.",
    verbs={
        "list": _remote(
            "drifts", "list", "List what differed, since when, by whom, and how it ended."
        )
    },
)

CONTEXT = LazyGroup(
    name="gitops context",
    summary="Choose between the logins of this machine.",
    verbs={
        "list": _remote("context", "list", "List the logins; the current one is marked."),
        "use": _remote("context", "use", "Use this login from now on."),
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
        "login": _remote("login", "login", "Log in to a service."),
        "logout": _remote("login", "logout", "Log out."),
        "context": CONTEXT,
        "app": APP,
        "project": PROJECT,
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
