-- Dags: what the Dag processor found out about them, their versions, code and serialized form.

-- One row for each Dag ever parsed: what is known of it short of its serialized form; when it runs next.
CREATE TABLE dag (
    dag_id                          {id(250)}     NOT NULL,
    is_paused                       BOOLEAN       NOT NULL,
    is_stale                        BOOLEAN       NOT NULL,
    exceeds_max_non_backfill        BOOLEAN       NOT NULL DEFAULT '0',
    last_parsed_time                {timestamp?},
    last_parse_duration             FLOAT,
    last_expired                    {timestamp?},
    fileloc                         VARCHAR(2000),
    relative_fileloc                VARCHAR(2000),
    bundle_name                     {id(250)}     NOT NULL,
    bundle_version                  VARCHAR(200),
    owners                          VARCHAR(2000),
    dag_display_name                VARCHAR(2000),
    description                     TEXT,
    timetable_type                  VARCHAR(255)  NOT NULL,
    timetable_summary               TEXT,
    timetable_description           VARCHAR(1000),
    timetable_partitioned           BOOLEAN       NOT NULL DEFAULT '0',
    timetable_periodic              BOOLEAN       NOT NULL DEFAULT '0',
    partition_mapper_info           JSON          NOT NULL,
    asset_expression                JSON,
    deadline                        JSON,
    max_active_tasks                INTEGER       NOT NULL,
    max_active_runs                 INTEGER,
    max_consecutive_failed_dag_runs INTEGER       NOT NULL,
    has_task_concurrency_limits     BOOLEAN       NOT NULL,
    has_import_errors               BOOLEAN       DEFAULT '0',
    fail_fast                       BOOLEAN       NOT NULL DEFAULT '0',
    allowed_run_types               JSON,
    next_dagrun                     {timestamp?},
    next_dagrun_data_interval_start {timestamp?},
    next_dagrun_data_interval_end   {timestamp?},
    next_dagrun_partition_key       VARCHAR(255),
    next_dagrun_partition_date      {timestamp?},
    next_dagrun_create_after        {timestamp?},
    CONSTRAINT dag_pkey PRIMARY KEY (dag_id),
    CONSTRAINT dag_bundle_name_fkey FOREIGN KEY (bundle_name) REFERENCES dag_bundle (name)
);
CREATE INDEX idx_next_dagrun_create_after ON dag (next_dagrun_create_after);

-- Tags of a Dag.
CREATE TABLE dag_tag (
    name   VARCHAR(100) NOT NULL,
    dag_id {id(250)}    NOT NULL,
    CONSTRAINT dag_tag_pkey PRIMARY KEY (name, dag_id),
    CONSTRAINT dag_tag_dag_id_fkey FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);
CREATE INDEX idx_dag_tag_dag_id ON dag_tag (dag_id);

-- The link that a Dag's author gives for each owner.
CREATE TABLE dag_owner_attributes (
    dag_id {id(250)}    NOT NULL,
    owner  VARCHAR(500) NOT NULL,
    link   VARCHAR(500) NOT NULL,
    CONSTRAINT dag_owner_attributes_pkey PRIMARY KEY (dag_id, owner),
    CONSTRAINT "dag.dag_id" FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

-- Complaints about a Dag that parsed, such as a pool that does not exist.
CREATE TABLE dag_warning (
    dag_id       {id(250)}   NOT NULL,
    warning_type VARCHAR(50) NOT NULL,
    message      TEXT        NOT NULL,
    timestamp    {timestamp} NOT NULL,
    CONSTRAINT dag_warning_pkey PRIMARY KEY (dag_id, warning_type),
    CONSTRAINT dcw_dag_id_fkey FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);
CREATE INDEX idx_dag_warning_dag_id ON dag_warning (dag_id);

-- Dags that a user has starred.
CREATE TABLE dag_favorite (
    user_id {id(250)} NOT NULL,
    dag_id  {id(250)} NOT NULL,
    CONSTRAINT dag_favorite_pkey PRIMARY KEY (user_id, dag_id),
    CONSTRAINT dag_favorite_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

-- Files that somebody asked to have parsed before their turn.
CREATE TABLE dag_priority_parsing_request (
    id               VARCHAR(32)   NOT NULL,
    bundle_name      {id(250)}     NOT NULL,
    relative_fileloc VARCHAR(2000) NOT NULL,
    CONSTRAINT dag_priority_parsing_request_pkey PRIMARY KEY (id)
);

-- Files that failed to parse, with the traceback.
CREATE TABLE import_error (
    id          {serial},
    timestamp   {timestamp?},
    filename    VARCHAR(1024),
    bundle_name {id(250)},
    stacktrace  TEXT,
    CONSTRAINT import_error_pkey PRIMARY KEY (id)
);

-- The versions of a Dag: a new one when its structure changed after the last had runs.
CREATE TABLE dag_version (
    id             {uuid}      NOT NULL,
    version_number INTEGER     NOT NULL,
    dag_id         {id(250)}   NOT NULL,
    bundle_name    {id(250)},
    bundle_version {id(250)},
    version_data   JSON,
    created_at     {timestamp} NOT NULL,
    last_updated   {timestamp} NOT NULL,
    CONSTRAINT dag_version_pkey PRIMARY KEY (id),
    CONSTRAINT dag_id_v_name_v_number_unique_constraint UNIQUE (dag_id, version_number),
    CONSTRAINT dag_version_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

-- The source text of a Dag version.
CREATE TABLE dag_code (
    id               {uuid}        NOT NULL,
    dag_id           VARCHAR(250)  NOT NULL,
    fileloc          VARCHAR(2000) NOT NULL,
    created_at       {timestamp}   NOT NULL,
    last_updated     {timestamp}   NOT NULL,
    source_code      {mediumtext}  NOT NULL,
    source_code_hash VARCHAR(32)   NOT NULL,
    dag_version_id   {uuid}        NOT NULL,
    CONSTRAINT dag_code_pkey PRIMARY KEY (id),
    CONSTRAINT dag_code_dag_version_id_uq UNIQUE (dag_version_id),
    CONSTRAINT dag_code_dag_version_id_fkey
        FOREIGN KEY (dag_version_id) REFERENCES dag_version (id) ON DELETE CASCADE
);

-- The serialized form of a Dag version, plain or compressed.
CREATE TABLE serialized_dag (
    id              {uuid}       NOT NULL,
    dag_id          VARCHAR(250) NOT NULL,
    data            {jsonb},
    data_compressed {blob},
    created_at      {timestamp}  NOT NULL,
    last_updated    {timestamp}  NOT NULL,
    dag_hash        VARCHAR(32)  NOT NULL,
    dag_version_id  {uuid}       NOT NULL,
    CONSTRAINT serialized_dag_pkey PRIMARY KEY (id),
    CONSTRAINT serialized_dag_dag_version_id_uq UNIQUE (dag_version_id),
    CONSTRAINT serialized_dag_dag_version_id_fkey
        FOREIGN KEY (dag_version_id) REFERENCES dag_version (id) ON DELETE CASCADE
);
