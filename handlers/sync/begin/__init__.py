"""Which operation is to be worked on."""
