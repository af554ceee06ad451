SELECT team_name FROM dag_bundle_team WHERE dag_bundle_name = ?
