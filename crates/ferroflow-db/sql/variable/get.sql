SELECT {name:key}, val, description, is_encrypted, team_name FROM variable WHERE {name:key} = ?
