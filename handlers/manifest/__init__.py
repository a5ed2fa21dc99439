"""Kubernetes objects as values: reading, kinds and order, tracking, options, hooks, redaction."""
