-- Everything that belongs to no Dag. The revision comes last: where it is found, the rest is there.

-- Schedulers, Dag processors and triggerers, with their last heartbeat.
CREATE TABLE job (
    id               {serial},
    dag_id           VARCHAR(250),
    state            VARCHAR(20),
    job_type         VARCHAR(30),
    start_date       {timestamp?},
    end_date         {timestamp?},
    latest_heartbeat {timestamp?},
    executor_class   VARCHAR(500),
    hostname         VARCHAR(500),
    unixname         VARCHAR(1000),
    CONSTRAINT job_pkey PRIMARY KEY (id)
);
CREATE INDEX idx_job_dag_id ON job (dag_id);
CREATE INDEX idx_job_state_heartbeat ON job (state, latest_heartbeat);
CREATE INDEX job_type_heart ON job (job_type, latest_heartbeat);

-- The audit log: who did what, and to which task instance.
CREATE TABLE log (
    id                 {serial},
    dttm               {timestamp?},
    dag_id             {id(250)},
    task_id            {id(250)},
    map_index          INTEGER,
    event              VARCHAR(60)  NOT NULL,
    logical_date       {timestamp?},
    run_id             {id(250)},
    owner              VARCHAR(500),
    owner_display_name VARCHAR(500),
    extra              TEXT,
    try_number         INTEGER,
    CONSTRAINT log_pkey PRIMARY KEY (id)
);
CREATE INDEX idx_log_dttm ON log (dttm);
CREATE INDEX idx_log_event ON log (event);
CREATE INDEX idx_log_task_instance ON log (dag_id, task_id, run_id, map_index, try_number);

-- Connections to other systems; password and extra are encrypted where a key is configured.
CREATE TABLE connection (
    id                 {serial},
    conn_id            VARCHAR(250)  NOT NULL,
    conn_type          VARCHAR(500)  NOT NULL,
    description        TEXT,          --: postgres
    description        VARCHAR(5000), --: sqlite
    description        TEXT(5000),    --: mysql
    host               VARCHAR(500),
    "schema"           VARCHAR(500),
    login              TEXT,
    port               INTEGER,
    team_name          VARCHAR(50),
    password           TEXT,
    extra              TEXT,
    is_encrypted       BOOLEAN       NOT NULL,
    is_extra_encrypted BOOLEAN       NOT NULL,
    CONSTRAINT connection_pkey PRIMARY KEY (id),
    CONSTRAINT connection_conn_id_uq UNIQUE (conn_id),
    CONSTRAINT connection_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE SET NULL
);

-- Connection tests that a worker is asked to make.
CREATE TABLE connection_test_request (
    id                   {uuid}        NOT NULL,
    token                VARCHAR(64)   NOT NULL,
    connection_id        VARCHAR(250)  NOT NULL,
    state                VARCHAR(20)   NOT NULL,
    result_message       VARCHAR(2000),
    created_at           {timestamp}   NOT NULL,
    updated_at           {timestamp}   NOT NULL,
    executor             VARCHAR(256),
    queue                VARCHAR(256),
    conn_type            VARCHAR(500)  NOT NULL,
    host                 VARCHAR(500),
    login                TEXT,
    "schema"             VARCHAR(500),
    port                 INTEGER,
    commit_on_success    BOOLEAN       NOT NULL DEFAULT '0',
    is_encrypted         BOOLEAN       NOT NULL DEFAULT '0',
    is_extra_encrypted   BOOLEAN       NOT NULL DEFAULT '0',
    active_connection_id VARCHAR(250),
    team_name            VARCHAR(50),
    password             TEXT,
    extra                TEXT,
    CONSTRAINT connection_test_request_pkey PRIMARY KEY (id),
    CONSTRAINT uq_connection_test_request_active_conn UNIQUE (active_connection_id),
    CONSTRAINT connection_test_request_token_uq UNIQUE (token)
);
CREATE INDEX idx_connection_test_request_state_created_at ON connection_test_request (state, created_at);

-- Variables that users set; the value is encrypted where a key is configured.
CREATE TABLE variable (
    id           {serial},
    "key"        VARCHAR(250) NOT NULL,
    val          {mediumtext} NOT NULL,
    description  TEXT,
    is_encrypted BOOLEAN      NOT NULL,
    team_name    VARCHAR(50),
    CONSTRAINT variable_pkey PRIMARY KEY (id),
    CONSTRAINT variable_key_uq UNIQUE ("key"),
    CONSTRAINT variable_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE SET NULL
);

-- Pools: how many task instances may run at once in each.
CREATE TABLE slot_pool (
    id               {serial},
    pool             VARCHAR(256),
    slots            INTEGER      NOT NULL,
    description      TEXT,
    include_deferred BOOLEAN      NOT NULL,
    team_name        VARCHAR(50),
    CONSTRAINT slot_pool_pkey PRIMARY KEY (id),
    CONSTRAINT slot_pool_pool_uq UNIQUE (pool),
    CONSTRAINT slot_pool_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE SET NULL
);

-- Login tokens refused before they expire, such as after logout.
CREATE TABLE revoked_token (
    jti VARCHAR(32) NOT NULL,
    exp {timestamp} NOT NULL,
    CONSTRAINT revoked_token_pkey PRIMARY KEY (jti)
);
CREATE INDEX idx_revoked_token_exp ON revoked_token (exp);

-- The revision that this schema is at: one row.
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
