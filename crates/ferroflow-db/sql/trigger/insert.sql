INSERT INTO {name:trigger} (classpath, kwargs, created_date, team_name) VALUES (?, ?, ?, ?)
{returning:id}
