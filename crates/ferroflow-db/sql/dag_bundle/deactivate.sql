UPDATE dag_bundle SET active = ? WHERE name = ? AND active = ?
