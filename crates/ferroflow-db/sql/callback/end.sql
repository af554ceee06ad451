-- While an executor has it, its output says whose executor that is.
UPDATE callback SET state = ?, output = ? WHERE id = ? AND state = ? AND output = ?
