"""The commands that use the service of the current login, and nothing of this machine."""

from __future__ import annotations

from cli.lazy import LazyGroup, LazyVerb


def remote(module: str, command: str, summary: str) -> LazyVerb:
    """Make a verb that uses the service of the current login."""
    return LazyVerb(module=f"cli.remote.{module}", command=command, summary=summary)


EPOCHS = LazyGroup(
    name="gitops agent epochs",
    summary="Decide about clusters that do not resemble what is known of them.",
    verbs={
        "accept": remote(
            "agent_epochs", "accept", "Accept the cluster: it replaces what was known."
        ),
        "reject": remote("agent_epochs", "reject", "Reject the cluster: what was known stays."),
    },
)

DELETIONS = LazyGroup(
    name="gitops agent deletions",
    summary="Decide about deletions that were held because they were many at once.",
    verbs={"accept": remote("agent_care", "accept", "Accept the held deletions.")},
)

APP_ACTIONS = LazyGroup(
    name="gitops app actions",
    summary="List and run the actions of one live object.",
    verbs={
        "list": remote("app_live", "list", "List the actions of one live object."),
        "run": remote("app_live", "run", "Run an action on one live object."),
    },
)

APP_OBJECT = LazyGroup(
    name="gitops app object",
    summary="Change or delete one live object of an application.",
    verbs={
        "edit": remote("app_live", "edit", "Change one live object by a JSON merge patch."),
        "delete": remote("app_live", "delete", "Delete one live object."),
    },
)

APP = LazyGroup(
    name="gitops app",
    summary="Look at applications by way of the service, and act on them.",
    verbs={
        "list": remote("app_list", "list", "List applications, those that need a person first."),
        "get": remote(
            "app_get", "get", "Show one application: what runs, what is wrong, its objects."
        ),
        "tree": remote(
            "app_objects", "tree", "Show the objects and what they own, down to the last pod."
        ),
        "resources": remote(
            "app_objects", "resources", "List the objects that an application manages."
        ),
        "manifests": remote("app_manifests", "manifests", "Print the manifests that Git wants."),
        "logs": remote("app_logs", "logs", "Print the logs of the pods."),
        "exec": remote("app_exec", "exec", "Open a shell in a container of a pod."),
        "diff": remote(
            "app_objects", "diff", "Compare desired with live; exit code 1 if they differ."
        ),
        "links": remote("app_links", "links", "List the links to other tools."),
        "history": remote("app_rollback", "history", "List what was deployed."),
        "create": remote("app_write", "create", "Create the Applications of a file."),
        "apply": remote("app_write", "apply", "Create or replace the Applications of a file."),
        "delete": remote("app_write", "delete", "Delete an application and what it deployed."),
        "sync": remote("app_sync", "sync", "Deploy the desired state now."),
        "refresh": remote("app_write", "refresh", "Look at the source again."),
        "rollback": remote("app_rollback", "rollback", "Sync to what was deployed before."),
        "terminate": remote("app_write", "terminate", "End the operation that runs."),
        "confirm-deletion": remote(
            "app_write", "confirm-deletion", "Approve the deletions that wait for a person."
        ),
        "actions": APP_ACTIONS,
        "object": APP_OBJECT,
        "wait": remote("app_wait", "wait", "Wait until an application is Synced and Healthy."),
    },
)

PROJECT = LazyGroup(
    name="gitops project",
    summary="Manage AppProjects: what may be deployed, from where, to where.",
    verbs={
        "list": remote("projects", "list", "List projects, with the number of their applications."),
        "get": remote("projects", "get", "Show one project with its rules."),
        "create": remote("projects", "create", "Create the AppProjects of a file."),
        "apply": remote("projects", "apply", "Create or replace the AppProjects of a file."),
        "delete": remote("projects", "delete", "Delete a project without applications."),
    },
)

TASK = LazyGroup(
    name="gitops task",
    summary="Look at tasks of agents, and cancel them.",
    verbs={
        "list": remote("tasks", "list", "List the newest tasks."),
        "get": remote("tasks", "get", "Show one task with its result."),
        "cancel": remote("tasks", "cancel", "Cancel a task."),
    },
)

AUDIT = LazyGroup(
    name="gitops audit",
    summary="Read the audit log, and prove that nobody changed it.",
    verbs={
        "list": remote("audit", "list", "List the newest records."),
        "export": remote("audit", "export", "Print all records as lines of JSON."),
        "verify": remote(
            "audit", "verify", "Verify the chain of records; exit code 1 if it is broken."
        ),
    },
)

DRIFT = LazyGroup(
    name="gitops drift",
    summary="Read the drift ledger.",
    verbs={
        "list": remote(
            "drifts", "list", "List what differed, since when, by whom, and how it ended."
        )
    },
)

CONTEXT = LazyGroup(
    name="gitops context",
    summary="Choose between the logins of this machine.",
    verbs={
        "list": remote("context", "list", "List the logins; the current one is marked."),
        "use": remote("context", "use", "Use this login from now on."),
    },
)

CLUSTER = LazyGroup(
    name="gitops cluster",
    summary="Look at the clusters that agents deploy to, and make others known.",
    verbs={
        "list": remote("clusters", "list", "List clusters, those that fail first."),
        "get": remote("clusters", "get", "Show one cluster: its state, version and objects."),
        "add": remote("clusters", "add", "Make a cluster known to an agent."),
        "rm": remote("clusters", "rm", "Remove a cluster and its credential from an agent."),
    },
)

REPOSITORY = LazyGroup(
    name="gitops repo",
    summary="Look at the repositories of agents, and make others known.",
    verbs={
        "list": remote("repositories", "list", "List repositories, those that fail first."),
        "get": remote("repositories", "get", "Show one repository with its state."),
        "test": remote("repositories", "test", "Ask the agent to reach a repository now."),
        "add": remote("repositories", "add", "Make a repository known to an agent."),
        "rm": remote("repositories", "rm", "Remove a repository and its credential."),
    },
)
