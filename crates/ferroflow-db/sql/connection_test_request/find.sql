SELECT
    state, commit_on_success, connection_id AS conn_id, conn_type, NULL AS description, host, {name:schema}, login, port,
    team_name, is_encrypted, is_extra_encrypted, password, extra
FROM connection_test_request
WHERE id = ?
