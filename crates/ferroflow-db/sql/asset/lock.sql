SELECT id FROM asset WHERE id = ?
{lock:asset}
