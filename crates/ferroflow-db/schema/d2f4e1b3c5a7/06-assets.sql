-- Assets: their updates, and who reads, makes or waits for them.

-- Every asset that a Dag ever referred to.
CREATE TABLE asset (
    id         {autoincrement},
    name       {latin1(1500)}  NOT NULL,
    uri        {latin1(1500)}  NOT NULL,
    "group"    {latin1(1500)}  NOT NULL,
    extra      JSON            NOT NULL,
    created_at {timestamp}     NOT NULL,
    updated_at {timestamp}     NOT NULL,
    CONSTRAINT asset_pkey PRIMARY KEY (id) --: postgres mysql
);
CREATE UNIQUE INDEX idx_asset_name_uri_unique ON asset (name, uri);

-- Assets that some Dag refers to now; no two share a name or a URI.
CREATE TABLE asset_active (
    name {latin1(1500)} NOT NULL,
    uri  {latin1(1500)} NOT NULL,
    CONSTRAINT asset_active_pkey PRIMARY KEY (name, uri),
    CONSTRAINT asset_active_asset_name_uri_fkey
        FOREIGN KEY (name, uri) REFERENCES asset (name, uri) ON DELETE CASCADE
);
CREATE UNIQUE INDEX idx_asset_active_name_unique ON asset_active (name);
CREATE UNIQUE INDEX idx_asset_active_uri_unique ON asset_active (uri);

-- Names under which a task may emit events for assets known only when it runs.
CREATE TABLE asset_alias (
    id      {autoincrement},
    name    {latin1(1500)}  NOT NULL,
    "group" {latin1(1500)}  NOT NULL,
    CONSTRAINT asset_alias_pkey PRIMARY KEY (id) --: postgres mysql
);
CREATE UNIQUE INDEX idx_asset_alias_name_unique ON asset_alias (name);

-- Assets that an alias was resolved to.
CREATE TABLE asset_alias_asset (
    alias_id INTEGER NOT NULL,
    asset_id INTEGER NOT NULL,
    CONSTRAINT asset_alias_asset_pkey PRIMARY KEY (alias_id, asset_id),
    CONSTRAINT asset_alias_asset_alias_id_fkey
        FOREIGN KEY (alias_id) REFERENCES asset_alias (id) ON DELETE CASCADE,
    CONSTRAINT asset_alias_asset_asset_id_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE
);
CREATE INDEX idx_asset_alias_asset_alias_id ON asset_alias_asset (alias_id);
CREATE INDEX idx_asset_alias_asset_asset_id ON asset_alias_asset (asset_id);

-- Updates of assets, with the task instance that made each.
CREATE TABLE asset_event (
    id               {autoincrement},
    asset_id         INTEGER         NOT NULL,
    extra            JSON            NOT NULL,
    source_task_id   {id(250)},
    source_dag_id    {id(250)},
    source_run_id    {id(250)},
    source_map_index INTEGER         DEFAULT '-1',
    timestamp        {timestamp}     NOT NULL,
    partition_key    {id(250)},
    CONSTRAINT asset_event_pkey PRIMARY KEY (id) --: postgres mysql
);
CREATE INDEX idx_asset_id_timestamp ON asset_event (asset_id, timestamp);

-- Events that were emitted through an alias.
CREATE TABLE asset_alias_asset_event (
    alias_id INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    CONSTRAINT asset_alias_asset_event_pkey PRIMARY KEY (alias_id, event_id),
    CONSTRAINT asset_alias_asset_event_alias_id_fkey
        FOREIGN KEY (alias_id) REFERENCES asset_alias (id) ON DELETE CASCADE,
    CONSTRAINT asset_alias_asset_event_event_id_fkey
        FOREIGN KEY (event_id) REFERENCES asset_event (id) ON DELETE CASCADE
);
CREATE INDEX idx_asset_alias_asset_event_alias_id ON asset_alias_asset_event (alias_id);
CREATE INDEX idx_asset_alias_asset_event_event_id ON asset_alias_asset_event (event_id);

-- Events that a run consumed.
CREATE TABLE dagrun_asset_event (
    dag_run_id INTEGER NOT NULL,
    event_id   INTEGER NOT NULL,
    CONSTRAINT dagrun_asset_event_pkey PRIMARY KEY (dag_run_id, event_id),
    CONSTRAINT dagrun_asset_event_dag_run_id_fkey
        FOREIGN KEY (dag_run_id) REFERENCES dag_run (id) ON DELETE CASCADE,
    CONSTRAINT dagrun_asset_event_event_id_fkey
        FOREIGN KEY (event_id) REFERENCES asset_event (id) ON DELETE CASCADE
);
CREATE INDEX idx_dagrun_asset_events_dag_run_id ON dagrun_asset_event (dag_run_id);
CREATE INDEX idx_dagrun_asset_events_event_id ON dagrun_asset_event (event_id);

-- Triggers that watch an asset for updates from outside.
CREATE TABLE asset_watcher (
    name       {latin1(1500)} NOT NULL,
    asset_id   INTEGER        NOT NULL,
    trigger_id INTEGER        NOT NULL,
    CONSTRAINT asset_watcher_pkey PRIMARY KEY (asset_id, trigger_id),
    CONSTRAINT awm_asset_id_fkey FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT awm_trigger_id_fkey
        FOREIGN KEY (trigger_id) REFERENCES "trigger" (id) ON DELETE CASCADE
);
CREATE INDEX idx_awm_trigger_id ON asset_watcher (trigger_id);

-- Values kept for an asset between updates, with their last writer.
CREATE TABLE asset_state_store (
    asset_id                  INTEGER      NOT NULL,
    "key"                     {id(512)}    NOT NULL,
    value                     {mediumtext} NOT NULL,
    updated_at                {timestamp}  NOT NULL,
    last_updated_by_kind      VARCHAR(16),
    last_updated_by_dag_id    {id(250)},
    last_updated_by_run_id    {id(250)},
    last_updated_by_task_id   {id(250)},
    last_updated_by_map_index INTEGER,
    CONSTRAINT asset_state_store_pkey PRIMARY KEY (asset_id, "key"),
    CONSTRAINT asset_state_store_asset_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE
);

-- Assets that a Dag is scheduled on.
CREATE TABLE dag_schedule_asset_reference (
    asset_id               INTEGER     NOT NULL,
    dag_id                 {id(250)}   NOT NULL,
    allow_producer_teams   JSON,
    allow_global_producers BOOLEAN     NOT NULL DEFAULT {true},
    created_at             {timestamp} NOT NULL,
    updated_at             {timestamp} NOT NULL,
    CONSTRAINT dsar_pkey PRIMARY KEY (asset_id, dag_id),
    CONSTRAINT dsar_asset_fkey FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT dsar_dag_id_fkey FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);
CREATE INDEX idx_dag_schedule_asset_reference_dag_id ON dag_schedule_asset_reference (dag_id);

-- Aliases that a Dag is scheduled on.
CREATE TABLE dag_schedule_asset_alias_reference (
    alias_id   INTEGER     NOT NULL,
    dag_id     {id(250)}   NOT NULL,
    created_at {timestamp} NOT NULL,
    updated_at {timestamp} NOT NULL,
    CONSTRAINT dsaar_pkey PRIMARY KEY (alias_id, dag_id),
    CONSTRAINT dsaar_asset_alias_fkey
        FOREIGN KEY (alias_id) REFERENCES asset_alias (id) ON DELETE CASCADE,
    CONSTRAINT dsaar_dag_id_fkey FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);
CREATE INDEX idx_dag_schedule_asset_alias_reference_dag_id ON dag_schedule_asset_alias_reference (dag_id);

-- Assets that a Dag is scheduled on and names without their URI.
CREATE TABLE dag_schedule_asset_name_reference (
    name       {latin1(1500)} NOT NULL,
    dag_id     {id(250)}      NOT NULL,
    created_at {timestamp}    NOT NULL,
    CONSTRAINT dsanr_pkey PRIMARY KEY (name, dag_id),
    CONSTRAINT dsanr_dag_id_fkey FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);
CREATE INDEX idx_dag_schedule_asset_name_reference_dag_id ON dag_schedule_asset_name_reference (dag_id);

-- Assets that a Dag is scheduled on and gives by URI without their name.
CREATE TABLE dag_schedule_asset_uri_reference (
    uri        {latin1(1500)} NOT NULL,
    dag_id     {id(250)}      NOT NULL,
    created_at {timestamp}    NOT NULL,
    CONSTRAINT dsaur_pkey PRIMARY KEY (uri, dag_id),
    CONSTRAINT dsaur_dag_id_fkey FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);
CREATE INDEX idx_dag_schedule_asset_uri_reference_dag_id ON dag_schedule_asset_uri_reference (dag_id);

-- Assets that a task updates.
CREATE TABLE task_outlet_asset_reference (
    asset_id               INTEGER     NOT NULL,
    dag_id                 {id(250)}   NOT NULL,
    task_id                {id(250)}   NOT NULL,
    allow_consumer_teams   JSON,
    allow_global_consumers BOOLEAN     NOT NULL DEFAULT {true},
    created_at             {timestamp} NOT NULL,
    updated_at             {timestamp} NOT NULL,
    CONSTRAINT toar_pkey PRIMARY KEY (asset_id, dag_id, task_id),
    CONSTRAINT toar_asset_fkey FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT toar_dag_id_fkey FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);
CREATE INDEX idx_task_outlet_asset_reference_dag_id ON task_outlet_asset_reference (dag_id);

-- Assets that a task reads.
CREATE TABLE task_inlet_asset_reference (
    asset_id   INTEGER     NOT NULL,
    dag_id     {id(250)}   NOT NULL,
    task_id    {id(250)}   NOT NULL,
    created_at {timestamp} NOT NULL,
    updated_at {timestamp} NOT NULL,
    CONSTRAINT tiar_pkey PRIMARY KEY (asset_id, dag_id, task_id),
    CONSTRAINT tiar_asset_fkey FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT tiar_dag_id_fkey FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);
CREATE INDEX idx_task_inlet_asset_reference_dag_id ON task_inlet_asset_reference (dag_id);

-- Updates that a Dag waits to see completed by updates of its other assets.
CREATE TABLE asset_dag_run_queue (
    asset_id      INTEGER     NOT NULL,
    target_dag_id {id(250)}   NOT NULL,
    created_at    {timestamp} NOT NULL,
    CONSTRAINT assetdagrunqueue_pkey PRIMARY KEY (asset_id, target_dag_id),
    CONSTRAINT adrq_asset_fkey FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT adrq_dag_fkey FOREIGN KEY (target_dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);
CREATE INDEX idx_asset_dag_run_queue_target_dag_id ON asset_dag_run_queue (target_dag_id);

-- Runs to be made for one partition once all its assets have come.
CREATE TABLE asset_partition_dag_run (
    id                 {serial},
    target_dag_id      {id(250)}    NOT NULL,
    created_dag_run_id INTEGER,
    partition_key      {id(250)}    NOT NULL,
    partition_date     {timestamp?},
    rollup_fingerprint JSON,
    created_at         {timestamp}  NOT NULL,
    updated_at         {timestamp}  NOT NULL,
    CONSTRAINT asset_partition_dag_run_pkey PRIMARY KEY (id),
    CONSTRAINT apdr_created_dag_run_id_fkey
        FOREIGN KEY (created_dag_run_id) REFERENCES dag_run (id) ON DELETE CASCADE
);

-- Events that count towards a partition's run, with the key on either side.
CREATE TABLE partitioned_asset_key_log (
    id                         {serial},
    asset_id                   INTEGER     NOT NULL,
    asset_event_id             INTEGER     NOT NULL,
    asset_partition_dag_run_id INTEGER     NOT NULL,
    source_partition_key       {id(250)}   NOT NULL,
    target_dag_id              {id(250)}   NOT NULL,
    target_partition_key       {id(250)}   NOT NULL,
    created_at                 {timestamp} NOT NULL,
    CONSTRAINT partitioned_asset_key_log_pkey PRIMARY KEY (id)
);
CREATE INDEX idx_pakl_apdr_id ON partitioned_asset_key_log (asset_partition_dag_run_id);
