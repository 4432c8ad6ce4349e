"""Wiring of the cluster's processes: worker, agents, gateway, direct publisher."""

from mnemolog.cluster.agents import Sweep, run_agents
from mnemolog.cluster.gateway import ClusterBackend, run_gateway
from mnemolog.cluster.installation import (
    PREFIX_VARIABLE,
    Installation,
    check_topics,
    create_topics,
)
from mnemolog.cluster.publisher import broker_publisher
from mnemolog.cluster.worker import make_worker, run_worker

__all__ = [
    "PREFIX_VARIABLE",
    "ClusterBackend",
    "Installation",
    "Sweep",
    "broker_publisher",
    "check_topics",
    "create_topics",
    "make_worker",
    "run_agents",
    "run_gateway",
    "run_worker",
]
