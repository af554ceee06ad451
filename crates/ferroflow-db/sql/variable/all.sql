SELECT {name:key}, val, description, is_encrypted, team_name FROM variable ORDER BY id
