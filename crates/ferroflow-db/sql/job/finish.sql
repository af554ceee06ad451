UPDATE job SET state = ?, end_date = ? WHERE id = ? AND state = 'running'
