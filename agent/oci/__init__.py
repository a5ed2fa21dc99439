"""oci: charts and artifacts of OCI registries, read as the revisions of a source."""
