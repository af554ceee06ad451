DELETE FROM variable WHERE {name:key} = ?
