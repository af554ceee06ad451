-- Triggers, and the deadlines and callbacks of runs. Before the tasks, which refer to triggers.

-- Triggers that a triggerer runs on behalf of deferred tasks, assets and callbacks.
CREATE TABLE "trigger" (
    id           {serial},
    classpath    VARCHAR(1000) NOT NULL,
    kwargs       TEXT          NOT NULL,
    created_date {timestamp}   NOT NULL,
    triggerer_id INTEGER,
    queue        VARCHAR(256),
    team_name    VARCHAR(50),
    CONSTRAINT trigger_pkey PRIMARY KEY (id),
    CONSTRAINT trigger_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE SET NULL
);
CREATE INDEX idx_trigger_team_name ON "trigger" (team_name);

-- Callbacks to be run by an executor, a triggerer or the Dag processor.
CREATE TABLE callback (
    id              {uuid}      NOT NULL,
    type            VARCHAR(20) NOT NULL,
    fetch_method    VARCHAR(20) NOT NULL,
    data            {jsonb}     NOT NULL,
    bundle_name     {id(250)},
    state           VARCHAR(10),
    output          TEXT,
    priority_weight INTEGER     NOT NULL,
    created_at      {timestamp} NOT NULL,
    trigger_id      INTEGER,
    CONSTRAINT callback_pkey PRIMARY KEY (id),
    CONSTRAINT callback_trigger_id_fkey FOREIGN KEY (trigger_id) REFERENCES "trigger" (id)
);

-- Deadlines as a Dag's author declared them.
CREATE TABLE deadline_alert (
    id                {uuid}       NOT NULL,
    created_at        {timestamp}  NOT NULL,
    serialized_dag_id {uuid}       NOT NULL,
    name              VARCHAR(250),
    description       TEXT,
    reference         JSON         NOT NULL,
    "interval"        JSON         NOT NULL,
    callback_def      JSON         NOT NULL,
    CONSTRAINT deadline_alert_pkey PRIMARY KEY (id),
    CONSTRAINT deadline_alert_serialized_dag_id_fkey
        FOREIGN KEY (serialized_dag_id) REFERENCES serialized_dag (id) ON DELETE CASCADE
);

-- Deadlines of single runs: when each is due and what to call if it is missed.
CREATE TABLE deadline (
    id                {uuid}      NOT NULL,
    created_at        {timestamp} NOT NULL,
    last_updated_at   {timestamp} NOT NULL,
    dagrun_id         INTEGER,
    deadline_time     {timestamp} NOT NULL,
    missed            BOOLEAN     NOT NULL,
    callback_id       {uuid}      NOT NULL,
    deadline_alert_id {uuid},
    CONSTRAINT deadline_pkey PRIMARY KEY (id),
    CONSTRAINT deadline_dagrun_id_fkey
        FOREIGN KEY (dagrun_id) REFERENCES dag_run (id) ON DELETE CASCADE,
    CONSTRAINT deadline_callback_id_fkey
        FOREIGN KEY (callback_id) REFERENCES callback (id) ON DELETE CASCADE,
    CONSTRAINT deadline_deadline_alert_id_fkey
        FOREIGN KEY (deadline_alert_id) REFERENCES deadline_alert (id) ON DELETE SET NULL
);
CREATE INDEX deadline_callback_id_idx ON deadline (callback_id);
CREATE INDEX deadline_missed_deadline_time_idx ON deadline (missed, deadline_time);
