"""The ingress turns webhooks, polling and watch events into asks."""
