-- The official components' lock for migrations has this number.
SELECT CAST(pg_advisory_xact_lock(1) AS text) AS granted
