SELECT name, active, version, last_refreshed, signed_url_template, template_params
FROM dag_bundle
WHERE name = ?
