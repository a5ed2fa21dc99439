"""Serving HTTP to whoever connects: what agent and service share, so that neither has its own copy.

Everything that a stranger may take has a budget: connections, time for a head, time for a request,
bytes of bodies, lines of the log. Offered: `serving` and `HttpLimits` (server), `read_body` and
`BodyError` (body), `vouch` (connections), `REFUSALS` (refusals), `Budget` (budget), `forwarded`
(forwarded).
"""
