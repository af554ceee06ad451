SELECT {columns:job}
FROM job
WHERE id = ?
