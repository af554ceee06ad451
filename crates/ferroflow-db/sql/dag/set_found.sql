UPDATE dag SET last_parsed_time = ? WHERE dag_id IN ({in})
