"""The health of databases and search engines that an operator runs."""

from __future__ import annotations

from handlers.health.families.cloud_native_pg import CLUSTER
from handlers.health.patterns import READY_OR_DEGRADED, UNTIL_CONDITIONS
from handlers.health.predicates import Filled, Not, Present
from handlers.health.rule import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    UNKNOWN,
    Field,
    Rule,
    Scan,
    When,
)
from handlers.health.states import Health, degraded, healthy, progressing, unknown
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, items, mapping, number, text

_ZALANDO = Rule(
    When(PROGRESSING, Not(Filled("status.PostgresClusterStatus")), message="no status yet"),
    Field("status.PostgresClusterStatus", progressing=("Creating", "Updating"), healthy="Running"),
    otherwise=DEGRADED,
)
_MARIADB = Rule(
    UNTIL_CONDITIONS,
    Scan(degraded="*=False/Failed", progressing="*=False"),
    otherwise=HEALTHY,
)
_BACKUP = Rule(
    UNTIL_CONDITIONS,
    Scan(degraded="*=False/CronJobScheduled:Failed", progressing="*=False"),
    otherwise=HEALTHY,
)
_CLICKHOUSE = Rule(
    When(PROGRESSING, Not(Filled("status.status")), message="no status yet"),
    Field("status.status", healthy="Completed", progressing="InProgress"),
    otherwise=DEGRADED,
)
_COLOUR = Field("status.health", healthy="green", progressing="yellow", degraded="red")


def elasticsearch(manifest: Manifest) -> Health:
    """Count the nodes first: a cluster that lacks nodes may still call itself ready."""
    expected = sum(number(one, "count") for one in items(manifest, "spec", "nodeSets"))
    available = number(manifest, "status", "availableNodes")
    if available < expected:
        return progressing(f"{available} of {expected} nodes are available")
    phase = text(manifest, "status", "phase")
    match phase:
        case "Ready":
            return _COLOUR(manifest) or unknown("the cluster is ready, but has no health")
        case "ApplyingChanges" | "MigratingData":
            return progressing(f"phase: {phase}")
        case "Invalid":
            return degraded(f"phase: {phase}")
        case _:
            return unknown(f"phase {phase!r} of the cluster is not known")


def cassandra(manifest: Manifest) -> Health:
    racks = mapping(manifest, "status", "racks").values()
    ready = [number(one, "members") == number(one, "readyMembers") for one in racks]
    return healthy() if ready and all(ready) else progressing("not all racks are ready")


def solr_cloud(manifest: Manifest) -> Health:
    nodes = items(manifest, "status", "solrNodes")
    ready = [one.get("ready") is True for one in nodes]
    return healthy() if ready and all(ready) else progressing("not all nodes are ready")


KINDS: KindTable = {
    "acid.zalan.do": {"postgresql": _ZALANDO},
    "postgresql.cnpg.io": {"Cluster": CLUSTER},
    "k8s.mariadb.com": {
        "MariaDB": _MARIADB,
        "Backup": _BACKUP,
        "Database Grant User": READY_OR_DEGRADED,
        "SqlJob": Rule(Scan(healthy="*=True/JobComplete", degraded="*=True/JobFailed")),
    },
    "mariadb.mmontes.io": {"MariaDB": _MARIADB},
    "db.atlasgo.io": {
        "AtlasMigration": Rule(
            Scan(healthy="Ready=True", progressing="Ready=*/Reconciling", degraded="Ready=*")
        ),
        "AtlasSchema": Rule(
            Scan(
                healthy="Ready=True",
                progressing="Ready=*:Reconciling|GettingDevDB",
                degraded="Ready=*",
            )
        ),
    },
    "psmdb.percona.com": {
        "PerconaServerMongoDB": Rule(
            Field(
                "status.state",
                progressing=("initializing", "stopping"),
                healthy="ready",
                degraded="error",
                suspended="paused",
            ),
            otherwise=UNKNOWN,
        ),
    },
    "pxc.percona.com": {
        "PerconaXtraDBCluster": Rule(
            Field(
                "status.state",
                progressing="initializing",
                healthy="ready",
                degraded=("stopping", "error"),
                unknown="paused",
            ),
            otherwise=UNKNOWN,
        ),
    },
    "clickhouse.altinity.com": {"ClickHouseInstallation": _CLICKHOUSE},
    "clickhouse-keeper.altinity.com": {"ClickHouseKeeperInstallation": _CLICKHOUSE},
    "elasticsearch.k8s.elastic.co": {"Elasticsearch": elasticsearch},
    "beat.k8s.elastic.co": {
        "Beat": Rule(
            _COLOUR,
            When(PROGRESSING, Present("status.expectedNodes"), message="no health yet"),
            otherwise=UNKNOWN,
        ),
    },
    "logstash.k8s.elastic.co": {"Logstash": Rule(_COLOUR)},
    "cassandra.rook.io": {"Cluster": cassandra},
    "solr.apache.org": {"SolrCloud": solr_cloud},
}
