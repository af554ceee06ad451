SELECT CAST(table_rows AS SIGNED) AS total
FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name = ?
