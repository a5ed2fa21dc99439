"""The sandbox evaluates what others wrote: `worker` is its program (Go), `client` its pool."""
