"""manifest: Kubernetes objects as plain mappings: reading them, kinds, order, tracking, options."""
