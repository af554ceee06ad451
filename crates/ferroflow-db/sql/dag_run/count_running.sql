SELECT COUNT(*) AS total FROM dag_run WHERE state = 'running'
