"""What can be seen from outside: logs, metrics, traces, readiness."""
