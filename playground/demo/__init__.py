"""The demo: the way of a push through agent and service, on real parts, shown hop by hop."""
