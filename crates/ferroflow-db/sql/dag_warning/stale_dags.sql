SELECT DISTINCT w.dag_id FROM dag_warning w JOIN dag d ON d.dag_id = w.dag_id WHERE d.is_stale = ? ORDER BY w.dag_id
