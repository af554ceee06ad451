UPDATE asset SET {name:group} = ?, extra = ?, updated_at = ? WHERE id = ?
