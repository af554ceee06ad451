-- What else it has (a description, a team) stays, and so does its password if there is no new one.
UPDATE connection
SET conn_type = ?, host = ?, {name:schema} = ?, login = ?, port = ?, is_extra_encrypted = ?, extra = ?
WHERE conn_id = ?
