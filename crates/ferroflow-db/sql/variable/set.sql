INSERT INTO variable ({name:key}, val, description, is_encrypted, team_name)
VALUES (?, ?, ?, ?, ?)
{upsert:key} val = {proposed:val}, description = {proposed:description}, is_encrypted = {proposed:is_encrypted}
