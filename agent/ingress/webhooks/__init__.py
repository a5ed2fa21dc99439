"""Webhooks of Git hosts: each host is a value in `providers/`, each delivery becomes a Push."""
