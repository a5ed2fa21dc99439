"""The service's PostgreSQL: tables, migrations, and how a transaction is opened."""
