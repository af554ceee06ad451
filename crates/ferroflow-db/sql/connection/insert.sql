INSERT INTO connection (
    conn_type, description, host, {name:schema}, login, port, team_name, conn_id,
    is_encrypted, is_extra_encrypted, password, extra
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
