"""The service's keys, which stand outside of its database: they sign, and they encrypt columns."""
