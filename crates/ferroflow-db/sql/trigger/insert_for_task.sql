INSERT INTO {name:trigger} (classpath, kwargs, created_date, queue, team_name) VALUES (?, ?, ?, ?, ?)
{returning:id}
