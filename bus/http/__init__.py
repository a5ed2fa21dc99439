"""The HTTP server that agent and service share, with limits for unauthenticated clients.

Everything that a stranger may take has a budget: connections, time for a head, time for a request,
bytes of bodies, lines of the log. Offered: `serving` and `HttpLimits` (server), `read_body` and
`BodyError` (body), `vouch` (connection), `REFUSALS` (refusals), `Budget` (budget), `forwarded`
(forwarded).
"""
