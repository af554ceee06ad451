-- Teams, and the bundles that Dag files come from.

-- Teams of a multi-team deployment, by name.
CREATE TABLE team (
    name VARCHAR(50) NOT NULL,
    CONSTRAINT team_pkey PRIMARY KEY (name)
);

-- Sources of Dag files (directories, git repositories) and the version each was last refreshed to.
CREATE TABLE dag_bundle (
    name                {id(250)}    NOT NULL,
    active              BOOLEAN,
    version             VARCHAR(200),
    last_refreshed      {timestamp?},
    signed_url_template TEXT,
    template_params     JSON,
    CONSTRAINT dag_bundle_pkey PRIMARY KEY (name)
);

-- Which team a bundle belongs to: at most one.
CREATE TABLE dag_bundle_team (
    dag_bundle_name {id(250)}   NOT NULL,
    team_name       VARCHAR(50) NOT NULL,
    CONSTRAINT dag_bundle_team_pkey PRIMARY KEY (dag_bundle_name, team_name),
    CONSTRAINT dag_bundle_team_dag_bundle_name_fkey
        FOREIGN KEY (dag_bundle_name) REFERENCES dag_bundle (name) ON DELETE CASCADE,
    CONSTRAINT dag_bundle_team_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE CASCADE
);
CREATE INDEX idx_dag_bundle_team_team_name ON dag_bundle_team (team_name);
CREATE UNIQUE INDEX idx_dag_bundle_team_dag_bundle_name ON dag_bundle_team (dag_bundle_name);
