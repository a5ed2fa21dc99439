"""The bridge keeps the outbound link to the service: reports go up, tasks come down.

The rest of the agent never waits for the link. While the service is away, the outbox fills.
"""
