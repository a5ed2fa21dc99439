"""Retention: how long each class of record is kept, and the job that drops what is older.

`policy` decides, `partitions` speaks to the database, `audit` cuts the chain at a signed
checkpoint, `job` does it all once an hour on one replica. Deliveries and the change feed, which are
small, are trimmed by who writes them (service/live).
"""
