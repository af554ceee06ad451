UPDATE job SET latest_heartbeat = ?, state = ? WHERE id = ?
