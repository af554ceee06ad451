-- Runs of Dags, and backfills.

-- Log file name patterns that were ever configured; a run keeps the one it started with.
CREATE TABLE log_template (
    id               {serial},
    filename         TEXT        NOT NULL,
    elasticsearch_id TEXT        NOT NULL,
    created_at       {timestamp} NOT NULL,
    CONSTRAINT log_template_pkey PRIMARY KEY (id)
);

-- Requests to run a Dag over a range of past dates.
CREATE TABLE backfill (
    id                   {serial},
    dag_id               {id(250)}    NOT NULL,
    from_date            {timestamp}  NOT NULL,
    to_date              {timestamp}  NOT NULL,
    dag_run_conf         JSON         NOT NULL,
    is_paused            BOOLEAN,
    reprocess_behavior   {id(250)}    NOT NULL,
    max_active_runs      INTEGER      NOT NULL,
    created_at           {timestamp}  NOT NULL,
    completed_at         {timestamp?},
    updated_at           {timestamp}  NOT NULL,
    triggering_user_name VARCHAR(512),
    CONSTRAINT backfill_pkey PRIMARY KEY (id)
);

-- One row for each run of a Dag.
CREATE TABLE dag_run (
    id                       {serial},
    dag_id                   {id(250)}    NOT NULL,
    queued_at                {timestamp?},
    logical_date             {timestamp?},
    start_date               {timestamp?},
    end_date                 {timestamp?},
    state                    VARCHAR(50),
    run_id                   {id(250)}    NOT NULL,
    creating_job_id          INTEGER,
    run_type                 VARCHAR(50)  NOT NULL,
    triggered_by             VARCHAR(50),
    triggering_user_name     VARCHAR(512),
    conf                     {jsonb},
    data_interval_start      {timestamp?},
    data_interval_end        {timestamp?},
    run_after                {timestamp}  NOT NULL,
    last_scheduling_decision {timestamp?},
    log_template_id          INTEGER,
    created_at               {timestamp?},
    updated_at               {timestamp?},
    clear_number             INTEGER      NOT NULL DEFAULT '0',
    backfill_id              INTEGER,
    bundle_version           {id(250)},
    scheduled_by_job_id      INTEGER,
    context_carrier          {jsonb},
    span_status              VARCHAR(250) NOT NULL DEFAULT 'not_started',
    created_dag_version_id   {uuid},
    partition_key            {id(250)},
    partition_date           {timestamp?},
    CONSTRAINT dag_run_pkey PRIMARY KEY (id),
    CONSTRAINT dag_run_dag_id_run_id_key UNIQUE (dag_id, run_id),
    CONSTRAINT dag_run_dag_id_logical_date_key UNIQUE (dag_id, logical_date),
    CONSTRAINT task_instance_log_template_id_fkey
        FOREIGN KEY (log_template_id) REFERENCES log_template (id) ON DELETE NO ACTION,
    CONSTRAINT dag_run_backfill_id_fkey FOREIGN KEY (backfill_id) REFERENCES backfill (id),
    CONSTRAINT created_dag_version_id_fkey
        FOREIGN KEY (created_dag_version_id) REFERENCES dag_version (id) ON DELETE SET NULL
);
CREATE INDEX dag_id_state ON dag_run (dag_id, state);
CREATE INDEX idx_dag_run_created_dag_version_id ON dag_run (created_dag_version_id);
CREATE INDEX idx_dag_run_dag_id ON dag_run (dag_id);
CREATE INDEX idx_dag_run_queued_dags ON dag_run (state, dag_id) WHERE state = 'queued';  --: postgres sqlite
CREATE INDEX idx_dag_run_queued_dags ON dag_run (state, dag_id);                         --: mysql
CREATE INDEX idx_dag_run_run_after ON dag_run (run_after);
CREATE INDEX idx_dag_run_running_dags ON dag_run (state, dag_id) WHERE state = 'running';  --: postgres sqlite
CREATE INDEX idx_dag_run_running_dags ON dag_run (state, dag_id);                          --: mysql

-- The note that users keep on a run: at most one.
CREATE TABLE dag_run_note (
    user_id    VARCHAR(128),
    dag_run_id INTEGER       NOT NULL,
    content    VARCHAR(1000), --: postgres sqlite
    content    TEXT(1000),    --: mysql
    created_at {timestamp}   NOT NULL,
    updated_at {timestamp}   NOT NULL,
    CONSTRAINT dag_run_note_pkey PRIMARY KEY (dag_run_id),
    CONSTRAINT dag_run_note_dr_fkey
        FOREIGN KEY (dag_run_id) REFERENCES dag_run (id) ON DELETE CASCADE
);

-- Runs that a backfill made, or the reason why it made none for that date.
CREATE TABLE backfill_dag_run (
    id               {serial},
    backfill_id      INTEGER      NOT NULL,
    dag_run_id       INTEGER,
    exception_reason {id(250)},
    logical_date     {timestamp?},
    partition_key    {id(250)},
    sort_ordinal     INTEGER      NOT NULL,
    CONSTRAINT backfill_dag_run_pkey PRIMARY KEY (id),
    CONSTRAINT ix_bdr_backfill_id_dag_run_id UNIQUE (backfill_id, dag_run_id),
    CONSTRAINT bdr_backfill_fkey
        FOREIGN KEY (backfill_id) REFERENCES backfill (id) ON DELETE CASCADE,
    CONSTRAINT bdr_dag_run_fkey FOREIGN KEY (dag_run_id) REFERENCES dag_run (id) ON DELETE SET NULL
);
