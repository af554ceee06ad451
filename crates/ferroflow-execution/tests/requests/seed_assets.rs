//! What tasks ask about beyond runs: assets with events and aliases, tags, and a task that asks.

use ferroflow_testkit::{Server, TestDb};
use uuid::Uuid;

use crate::seed::{instance_id, seeded};

/// The task instance that asks: task `one` of the first run.
pub(crate) fn asking() -> Uuid {
    instance_id(1, 0)
}

/// Three assets (the second is not active), an alias of the first and the second, and three events: one through the
/// alias, one that a run was made for.
pub(crate) async fn seeded_with_assets(server: Server) -> TestDb {
    let database = seeded(server).await;
    let quote = if server == Server::MariaDb { '`' } else { '"' };
    let day = "'2026-01-01 00:00:00.000000'";
    for (id, name, uri, extra) in [
        (1, "active", "file://active", r#"{"b": [1, 2.5], "a": null}"#),
        (2, "sleeping", "file://sleeping", "{}"),
        (3, "other", "file://other", "{}"),
    ] {
        let insert = format!(
            "INSERT INTO asset (id, name, uri, {quote}group{quote}, extra, created_at, updated_at) \
             VALUES ({id}, '{name}', '{uri}', 'group', '{extra}', {day}, {day})"
        );
        database.execute(insert).await;
    }
    for (name, uri) in [("active", "file://active"), ("other", "file://other")] {
        database.execute(format!("INSERT INTO asset_active (name, uri) VALUES ('{name}', '{uri}')")).await;
    }
    let alias = format!("INSERT INTO asset_alias (id, name, {quote}group{quote}) VALUES (1, 'alias', 'g')");
    database.execute(alias).await;
    database.execute("INSERT INTO asset_alias_asset (alias_id, asset_id) VALUES (1, 1), (1, 2)").await;
    for (id, asset, hour, extra, source) in [
        (1, 1, "01", r#"{"n": 1}"#, "'one', 'dag', 'run 1', -1"),
        (2, 1, "02", "{}", "NULL, NULL, NULL, NULL"),
        (3, 2, "03", r#"{"n": 3}"#, "'mapped', 'dag', 'run 1', 2"),
    ] {
        let insert = format!(
            "INSERT INTO asset_event (id, asset_id, {quote}timestamp{quote}, extra, source_task_id, \
             source_dag_id, source_run_id, source_map_index) \
             VALUES ({id}, {asset}, '2026-01-01 {hour}:00:00.000000', '{extra}', {source})"
        );
        database.execute(insert).await;
    }
    database.execute("INSERT INTO asset_alias_asset_event (alias_id, event_id) VALUES (1, 3)").await;
    let run = "INSERT INTO dagrun_asset_event (dag_run_id, event_id) SELECT id, 1 FROM dag_run WHERE run_id = 'run 1'";
    database.execute(run).await;
    database.execute("INSERT INTO dag_tag (name, dag_id) VALUES ('z', 'dag'), ('a', 'dag')").await;
    database
}
