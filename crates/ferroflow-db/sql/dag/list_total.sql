SELECT COUNT(*) AS total FROM (SELECT 1 AS present
FROM dag
{where}
{page}) AS listed
