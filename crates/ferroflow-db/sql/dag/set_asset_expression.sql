UPDATE dag SET asset_expression = ? WHERE dag_id = ?
