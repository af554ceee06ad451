-- No other process looks for the new name: a processor, ours or an official one, looks for those of its bundles.
UPDATE callback SET bundle_name = ?, state = ? WHERE id = ? AND bundle_name = ?
