INSERT INTO asset (name, uri, {name:group}, extra, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?)
{or_keep:name}
