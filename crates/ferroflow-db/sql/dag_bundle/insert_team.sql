INSERT INTO dag_bundle_team (dag_bundle_name, team_name)
SELECT ?, name FROM team WHERE name = ?
