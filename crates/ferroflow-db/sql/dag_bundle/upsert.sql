INSERT INTO dag_bundle (name, active, signed_url_template, template_params)
VALUES (?, ?, ?, ?)
{upsert:name}
    active = {proposed:active},
    signed_url_template = {proposed:signed_url_template},
    template_params = {proposed:template_params}
