UPDATE asset_alias SET {name:group} = ? WHERE id = ?
