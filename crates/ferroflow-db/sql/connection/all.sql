SELECT
    id, conn_id, conn_type, description, host, {name:schema}, login, port, team_name,
    is_encrypted, is_extra_encrypted, password, extra
FROM connection
ORDER BY id
