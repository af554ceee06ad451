UPDATE dag
SET has_import_errors = ?, is_stale = ?
WHERE bundle_name = ?
  AND (relative_fileloc = ? OR dag_id IN ({in}))
  AND dag_id NOT IN ({in})
  AND (has_import_errors IS NULL OR has_import_errors <> ? OR is_stale <> ?)
