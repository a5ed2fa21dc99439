"""download: files of Helm repositories and registries over HTTP, verified and unpacked."""
