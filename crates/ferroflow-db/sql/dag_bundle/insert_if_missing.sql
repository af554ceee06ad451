-- Writing the name onto itself changes nothing, and is the one way to pass over a row that every database has.
INSERT INTO dag_bundle (name, active, template_params)
VALUES (?, ?, ?)
{upsert:name} name = {proposed:name}
