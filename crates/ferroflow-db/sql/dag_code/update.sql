UPDATE dag_code
SET source_code = ?, source_code_hash = ?, last_updated = ?
WHERE id = ?
