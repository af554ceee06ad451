-- Task instances and everything that hangs on one.

-- One row for each task of a run, or for each of its mapped copies: the current try.
CREATE TABLE task_instance (
    id                   {uuid}        NOT NULL,
    task_id              {id(250)}     NOT NULL,
    dag_id               {id(250)}     NOT NULL,
    run_id               {id(250)}     NOT NULL,
    map_index            INTEGER       NOT NULL DEFAULT '-1',
    start_date           {timestamp?},
    end_date             {timestamp?},
    duration             FLOAT,
    state                VARCHAR(20),
    try_number           INTEGER       NOT NULL,
    max_tries            INTEGER       NOT NULL DEFAULT '-1',
    hostname             VARCHAR(1000),
    unixname             VARCHAR(1000),
    pool                 VARCHAR(256)  NOT NULL,
    pool_slots           INTEGER       NOT NULL,
    queue                VARCHAR(256),
    priority_weight      INTEGER,
    operator             VARCHAR(1000),
    custom_operator_name VARCHAR(1000),
    queued_dttm          {timestamp?},
    scheduled_dttm       {timestamp?},
    queued_by_job_id     INTEGER,
    last_heartbeat_at    {timestamp?},
    pid                  INTEGER,
    executor             VARCHAR(1000),
    executor_config      {blob},
    updated_at           {timestamp?},
    rendered_map_index   VARCHAR(250),
    context_carrier      {jsonb},
    span_status          VARCHAR(250)  NOT NULL DEFAULT 'not_started',
    external_executor_id TEXT,
    trigger_id           INTEGER,
    trigger_timeout      {timestamp?},
    next_method          VARCHAR(1000),
    next_kwargs          {jsonb},
    task_display_name    VARCHAR(2000),
    dag_version_id       {uuid},
    retry_delay_override FLOAT,
    retry_reason         VARCHAR(500),
    CONSTRAINT task_instance_pkey PRIMARY KEY (id),
    CONSTRAINT task_instance_composite_key UNIQUE (dag_id, task_id, run_id, map_index),
    CONSTRAINT task_instance_trigger_id_fkey
        FOREIGN KEY (trigger_id) REFERENCES "trigger" (id) ON DELETE CASCADE,
    CONSTRAINT task_instance_dag_run_fkey
        FOREIGN KEY (dag_id, run_id) REFERENCES dag_run (dag_id, run_id) ON DELETE CASCADE,
    CONSTRAINT task_instance_dag_version_id_fkey
        FOREIGN KEY (dag_version_id) REFERENCES dag_version (id) ON DELETE RESTRICT
);
CREATE INDEX ti_dag_run ON task_instance (dag_id, run_id);
CREATE INDEX ti_dag_state ON task_instance (dag_id, state);
CREATE INDEX ti_dag_version_id ON task_instance (dag_version_id);
CREATE INDEX ti_heartbeat ON task_instance (last_heartbeat_at);
CREATE INDEX ti_pool ON task_instance (pool, state, priority_weight);
CREATE INDEX ti_state ON task_instance (state);
CREATE INDEX ti_state_lkp ON task_instance (dag_id, task_id, run_id, state);
CREATE INDEX ti_trigger_id ON task_instance (trigger_id);

-- The note that users keep on a task instance: at most one.
CREATE TABLE task_instance_note (
    ti_id      {uuid}        NOT NULL,
    user_id    VARCHAR(128),
    content    VARCHAR(1000), --: postgres sqlite
    content    TEXT(1000),    --: mysql
    created_at {timestamp}   NOT NULL,
    updated_at {timestamp}   NOT NULL,
    CONSTRAINT task_instance_note_pkey PRIMARY KEY (ti_id),
    CONSTRAINT task_instance_note_ti_fkey
        FOREIGN KEY (ti_id) REFERENCES task_instance (id) ON DELETE CASCADE ON UPDATE CASCADE
);

-- Earlier tries of task instances.
CREATE TABLE task_instance_history (
    task_instance_id     {uuid}        NOT NULL,
    task_id              {id(250)}     NOT NULL,
    dag_id               {id(250)}     NOT NULL,
    run_id               {id(250)}     NOT NULL,
    map_index            INTEGER       NOT NULL DEFAULT '-1',
    try_number           INTEGER       NOT NULL,
    start_date           {timestamp?},
    end_date             {timestamp?},
    duration             FLOAT,
    state                VARCHAR(20),
    max_tries            INTEGER       DEFAULT '-1',
    hostname             VARCHAR(1000),
    unixname             VARCHAR(1000),
    pool                 VARCHAR(256)  NOT NULL,
    pool_slots           INTEGER       NOT NULL,
    queue                VARCHAR(256),
    priority_weight      INTEGER,
    operator             VARCHAR(1000),
    custom_operator_name VARCHAR(1000),
    queued_dttm          {timestamp?},
    scheduled_dttm       {timestamp?},
    queued_by_job_id     INTEGER,
    pid                  INTEGER,
    executor             VARCHAR(1000),
    executor_config      {blob},
    updated_at           {timestamp?},
    rendered_map_index   VARCHAR(250),
    context_carrier      {jsonb},
    span_status          VARCHAR(250)  NOT NULL DEFAULT 'not_started',
    external_executor_id TEXT,
    trigger_id           INTEGER,
    trigger_timeout      TIMESTAMP, --: postgres
    trigger_timeout      DATETIME,  --: sqlite mysql
    next_method          VARCHAR(1000),
    next_kwargs          {jsonb},
    task_display_name    VARCHAR(2000),
    dag_version_id       {uuid},
    retry_delay_override FLOAT,
    retry_reason         VARCHAR(500),
    CONSTRAINT task_instance_history_pkey PRIMARY KEY (task_instance_id),
    CONSTRAINT task_instance_history_ti_fkey
        FOREIGN KEY (dag_id, task_id, run_id, map_index)
        REFERENCES task_instance (dag_id, task_id, run_id, map_index) ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT task_instance_history_dtrt_uq UNIQUE (dag_id, task_id, run_id, map_index, try_number)
);
CREATE INDEX idx_tih_dag_run ON task_instance_history (dag_id, run_id);

-- The times that a sensor gave up its slot, and when each asked to be run again.
CREATE TABLE task_reschedule (
    id              {serial},
    ti_id           {uuid}      NOT NULL,
    start_date      {timestamp} NOT NULL,
    end_date        {timestamp} NOT NULL,
    duration        INTEGER     NOT NULL,
    reschedule_date {timestamp} NOT NULL,
    CONSTRAINT task_reschedule_pkey PRIMARY KEY (id),
    CONSTRAINT task_reschedule_ti_fkey
        FOREIGN KEY (ti_id) REFERENCES task_instance (id) ON DELETE CASCADE
);
CREATE INDEX idx_task_reschedule_ti_id_id_desc ON task_reschedule (ti_id, id DESC);

-- How many copies a mapped task will have, from the value its upstream pushed.
CREATE TABLE task_map (
    dag_id    {id(250)} NOT NULL,
    task_id   {id(250)} NOT NULL,
    run_id    {id(250)} NOT NULL,
    map_index INTEGER   NOT NULL,
    length    INTEGER   NOT NULL,
    "keys"    {jsonb},
    CONSTRAINT task_map_pkey PRIMARY KEY (dag_id, task_id, run_id, map_index),
    CONSTRAINT ck_task_map_task_map_length_not_negative CHECK (length >= 0),
    CONSTRAINT task_map_task_instance_fkey
        FOREIGN KEY (dag_id, task_id, run_id, map_index)
        REFERENCES task_instance (dag_id, task_id, run_id, map_index) ON DELETE CASCADE ON UPDATE CASCADE
);

-- Template fields of a task instance after rendering.
CREATE TABLE rendered_task_instance_fields (
    dag_id          {id(250)} NOT NULL,
    task_id         {id(250)} NOT NULL,
    run_id          {id(250)} NOT NULL,
    map_index       INTEGER   NOT NULL DEFAULT '-1',
    rendered_fields JSON      NOT NULL,
    k8s_pod_yaml    JSON,
    CONSTRAINT rendered_task_instance_fields_pkey PRIMARY KEY (dag_id, task_id, run_id, map_index),
    CONSTRAINT rtif_ti_fkey
        FOREIGN KEY (dag_id, task_id, run_id, map_index)
        REFERENCES task_instance (dag_id, task_id, run_id, map_index) ON DELETE CASCADE
);

-- Values that tasks leave for other tasks.
CREATE TABLE xcom (
    dag_run_id INTEGER     NOT NULL,
    task_id    {id(250)}   NOT NULL,
    map_index  INTEGER     NOT NULL DEFAULT '-1',
    "key"      {id(512)}   NOT NULL,
    dag_result BOOLEAN,
    dag_id     {id(250)}   NOT NULL,
    run_id     {id(250)}   NOT NULL,
    value      {jsonb},
    timestamp  {timestamp} NOT NULL,
    CONSTRAINT xcom_pkey PRIMARY KEY (dag_run_id, task_id, map_index, "key"),
    CONSTRAINT xcom_task_instance_fkey
        FOREIGN KEY (dag_id, task_id, run_id, map_index)
        REFERENCES task_instance (dag_id, task_id, run_id, map_index) ON DELETE CASCADE
);
CREATE INDEX idx_xcom_key ON xcom ("key");
CREATE INDEX idx_xcom_task_instance ON xcom (dag_id, task_id, run_id, map_index);

-- Values that a task keeps for its own later tries.
CREATE TABLE task_state_store (
    id         {serial},
    dag_run_id INTEGER      NOT NULL,
    task_id    {id(250)}    NOT NULL,
    map_index  INTEGER      NOT NULL DEFAULT '-1',
    "key"      {id(512)}    NOT NULL,
    dag_id     {id(250)}    NOT NULL,
    run_id     {id(250)}    NOT NULL,
    value      {mediumtext} NOT NULL,
    updated_at {timestamp}  NOT NULL,
    expires_at {timestamp?},
    CONSTRAINT task_state_store_pkey PRIMARY KEY (id),
    CONSTRAINT task_state_store_uq UNIQUE (dag_run_id, task_id, map_index, "key"),
    CONSTRAINT task_state_store_dag_run_fkey
        FOREIGN KEY (dag_run_id) REFERENCES dag_run (id) ON DELETE CASCADE
);
CREATE INDEX idx_task_state_store_expires_at ON task_state_store (expires_at);
CREATE INDEX idx_task_state_store_lookup ON task_state_store (dag_id, run_id, task_id, map_index);

-- Questions that a task puts to a human, and the answers.
CREATE TABLE hitl_detail (
    ti_id          {uuid}       NOT NULL,
    options        JSON         NOT NULL,
    subject        TEXT         NOT NULL,
    "body"         TEXT,
    defaults       JSON,
    multiple       BOOLEAN,
    params         JSON         NOT NULL,
    assignees      JSON,
    created_at     {timestamp}  NOT NULL,
    responded_at   {timestamp?},
    responded_by   JSON,
    chosen_options JSON,
    params_input   JSON         NOT NULL,
    CONSTRAINT hitl_detail_pkey PRIMARY KEY (ti_id),
    CONSTRAINT hitl_detail_ti_fkey
        FOREIGN KEY (ti_id) REFERENCES task_instance (id) ON DELETE CASCADE ON UPDATE CASCADE
);

-- Questions and answers of earlier tries.
CREATE TABLE hitl_detail_history (
    ti_history_id  {uuid}       NOT NULL,
    options        JSON         NOT NULL,
    subject        TEXT         NOT NULL,
    "body"         TEXT,
    defaults       JSON,
    multiple       BOOLEAN,
    params         JSON         NOT NULL,
    assignees      JSON,
    created_at     {timestamp}  NOT NULL,
    responded_at   {timestamp?},
    responded_by   JSON,
    chosen_options JSON,
    params_input   JSON         NOT NULL,
    CONSTRAINT hitl_detail_history_pkey PRIMARY KEY (ti_history_id),
    CONSTRAINT hitl_detail_history_tih_fkey
        FOREIGN KEY (ti_history_id)
        REFERENCES task_instance_history (task_instance_id) ON DELETE CASCADE ON UPDATE CASCADE
);
