"""helm: charts of Helm repositories over HTTP, read as the revisions of a source."""
