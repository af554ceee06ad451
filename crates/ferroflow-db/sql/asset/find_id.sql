SELECT id FROM asset WHERE name = ? AND uri = ?
