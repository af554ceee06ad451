-- In the schemas that are looked in, ours among them; and how many there are in the whole database.
SELECT CAST(class.relname AS text) AS relation,
       CAST(found.tgname AS text) AS name,
       pg_table_is_visible(class.oid) AS is_visible
FROM pg_trigger AS found
JOIN pg_class AS class ON class.oid = found.tgrelid
JOIN pg_proc AS called ON called.oid = found.tgfoid
JOIN pg_namespace AS place ON place.oid = called.pronamespace
WHERE place.nspname = 'ferroflow_news' AND NOT found.tgisinternal
ORDER BY 1, 2
