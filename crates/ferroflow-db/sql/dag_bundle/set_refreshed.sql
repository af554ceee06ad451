UPDATE dag_bundle SET last_refreshed = ? WHERE name = ?
