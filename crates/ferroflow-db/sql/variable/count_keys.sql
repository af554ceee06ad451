SELECT COUNT(*) AS total FROM variable WHERE {name:key} LIKE ? ESCAPE '/'
