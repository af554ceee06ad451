UPDATE connection
SET conn_type = ?, description = ?, host = ?, {name:schema} = ?, login = ?, port = ?, team_name = ?
WHERE conn_id = ?
