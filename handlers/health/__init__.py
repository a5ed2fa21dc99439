"""Object -> health, and the health of an application from that of its objects."""
