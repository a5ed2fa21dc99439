"""report: facts and states of objects as items of the link, redacted before they leave."""
