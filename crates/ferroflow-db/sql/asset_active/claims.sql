SELECT name, uri FROM asset_active WHERE name IN ({in}) OR uri IN ({in})
