UPDATE dag_bundle SET last_refreshed = ?, version = ? WHERE name = ?
