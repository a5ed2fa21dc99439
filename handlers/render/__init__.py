"""render: from a Git revision to Kubernetes manifests, evaluated in the sandbox."""
