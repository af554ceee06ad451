SELECT {name:key} FROM variable WHERE {name:key} LIKE ? ESCAPE '/' ORDER BY {name:key} LIMIT ? OFFSET ?
