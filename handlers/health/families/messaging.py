"""The health of brokers: Kafka in its several operators, RabbitMQ, and ZooKeeper below them."""

from __future__ import annotations

from handlers.health.patterns import NOT_READY_OR_READY
from handlers.health.predicates import Equal, HasAll, Is, Not, Positive, Present
from handlers.health.rule import DEGRADED, HEALTHY, UNKNOWN, Conditions, Field, Rule, Scan, When
from handlers.health.states import Health, degraded, healthy, progressing
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, get, mapping, text

_UPSCALED = ("GracefulUpscaleSucceeded", "GracefulDownscaleSucceeded")


def banzai_kafka(manifest: Manifest) -> Health:
    """Brokers first, then the topic of cruise control, then the cluster's own state."""
    state = text(manifest, "status", "state")
    if state == "ClusterRollingUpgrading":
        return progressing("a rolling upgrade is under way")
    brokers = mapping(manifest, "status", "brokersState").values()
    if not brokers or not all(map(_is_settled, brokers)):
        return progressing("not all brokers are in sync")
    if text(manifest, "status", "cruiseControlTopicStatus") == "CruiseControlTopicReady":
        running = state == "ClusterRunning"
        return healthy("the cluster runs") if running else progressing(f"state: {state}")
    if state == "ClusterReconciling":
        return progressing("the topic of cruise control is not ready yet")
    return degraded("the topic of cruise control is not ready")


def _is_settled(broker: object) -> bool:
    in_sync = get(broker, "configurationState") == "ConfigInSync"
    control = get(broker, "gracefulActionState", "cruiseControlState")
    return in_sync and control in _UPSCALED


_CONNECTOR = Rule(
    When(
        HEALTHY,
        Is("status.state", "CREATED"),
        Is("status.connectorState", "RUNNING"),
        Not(Present("status.failedTasksCount")),
    ),
    Field("status.state", degraded="ERROR"),
    When(DEGRADED, Positive("status.failedTasksCount"), message="tasks of the connector failed"),
)
_TOPOLOGY = Rule(
    Scan(
        healthy="Ready=True/SuccessfulCreateOrUpdate", degraded="Ready=False/FailedCreateOrUpdate"
    ),
    otherwise=UNKNOWN,
)

KINDS: KindTable = {
    "kafka.strimzi.io": {
        "Kafka": Rule(Scan(progressing="NotReady=True/Creating"), NOT_READY_OR_READY),
        "KafkaBridge KafkaConnect KafkaConnector KafkaTopic KafkaUser": NOT_READY_OR_READY,
    },
    "kafka.banzaicloud.io": {"KafkaCluster": banzai_kafka},
    "platform.confluent.io": {
        "Connect ControlCenter Kafka KsqlDB SchemaRegistry Zookeeper": Rule(
            Field("status.phase", healthy="RUNNING")
        ),
        "Connector": _CONNECTOR,
    },
    "rabbitmq.com": {
        "RabbitmqCluster": Rule(
            Conditions(degraded="ReconcileSuccess=False"),
            When(HEALTHY, HasAll("ClusterAvailable=True", "AllReplicasReady=True")),
        ),
        "Binding Exchange Permission Policy Queue Shovel User Vhost": _TOPOLOGY,
    },
    "zookeeper.pravega.io": {
        "ZookeeperCluster": Rule(
            When(
                HEALTHY,
                Positive("status.readyReplicas"),
                Equal("status.readyReplicas", "status.replicas"),
            )
        ),
    },
}
