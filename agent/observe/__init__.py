"""Observability of the agent: logs, metrics, traces and readiness."""
