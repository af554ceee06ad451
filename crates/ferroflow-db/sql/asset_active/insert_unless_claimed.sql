-- The first comes to stay: the scheduler settles conflicts over a name or a URI.
INSERT INTO asset_active (name, uri) VALUES (?, ?)
{or_keep:name}
