SELECT name, uri FROM asset_active WHERE name IN ({few}) OR uri IN ({few})
