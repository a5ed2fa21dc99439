"""The writer of an Application: its destination cluster, as the account that its project names.

Every write, dry run and read for a comparison of an Application goes through it, so that none is
made with wider rights by oversight: a session has no other writer.
"""

from __future__ import annotations

from handlers.application.application import Application
from handlers.application.argo_settings import ArgoSettings
from handlers.application.impersonation import acting_user
from handlers.ports import ApplicationLookup, ClusterWriter, DestinationSession


def application_writer(
    app: Application, session: DestinationSession, apps: ApplicationLookup, settings: ArgoSettings
) -> ClusterWriter:
    project = apps.project(app.spec.project)
    return session.writer_as(acting_user(app, project, session.cluster, settings.impersonation))
