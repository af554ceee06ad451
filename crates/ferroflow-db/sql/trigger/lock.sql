SELECT t.id FROM {name:trigger} t WHERE t.id = ?
{lock_skip:t}
