UPDATE dag
SET has_import_errors = ?, is_stale = ?
WHERE bundle_name = ?
  AND (relative_fileloc = ? OR dag_id IN ({few}))
  AND dag_id NOT IN ({few})
  AND (has_import_errors IS NULL OR has_import_errors <> ? OR is_stale <> ?)
