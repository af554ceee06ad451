SELECT COUNT(*) AS total FROM (SELECT 1 AS present
FROM dag_run
{where}
{page}) AS listed
