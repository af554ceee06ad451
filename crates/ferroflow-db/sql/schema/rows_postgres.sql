-- What the last ANALYZE or VACUUM found; -1 if there was none.
SELECT CAST(reltuples AS bigint) AS total FROM pg_catalog.pg_class WHERE oid = to_regclass(CAST(? AS text))
