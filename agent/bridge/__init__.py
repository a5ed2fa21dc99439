"""The outbound link to the service: what we report goes up, what people ask there comes down.

Nothing of the house waits for it: with the service away the outbox fills, and that is all.
"""
