"""The front door: webhooks, the poll safety net and watch events become asks."""
