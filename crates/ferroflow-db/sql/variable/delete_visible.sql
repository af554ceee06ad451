DELETE FROM variable WHERE {name:key} = ? AND (team_name = ? OR team_name IS NULL)
