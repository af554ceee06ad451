//! What `ferroflow tasks render` does beyond what was recorded.

use ferroflow_testkit::Server;
use serde_json::json;

use crate::cli::site::Site;

#[tokio::test]
async fn what_cannot_be_rendered_is_told_in_a_line() {
    let site = Site::on(Server::Sqlite).await;
    for (arguments, told) in [
        (&["rendering", "pulls", "2021-02-03"][..], "`ferroflow tasks test rendering pulls` runs it"),
        (&["rendering", "broken", "2021-02-03"], "'nothing' is undefined"),
        (&["rendering", "mny", "2021-02-03"], "did you mean many?"),
        (&["renderin", "many", "2021-02-03"], "did you mean rendering?"),
        (&["rendering", "several", "2021-02-03"], "--map-index"),
        (&["rendering", "several", "2021-02-03", "--map-index", "9"], "out of range"),
        (&["rendering", "many", "2021-02-03", "--map-index", "0"], "is not mapped"),
    ] {
        let refused = site.run(&[&["tasks", "render"], arguments].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{arguments:?}: {refused:?}");
        assert!(refused.stderr.contains(told), "{arguments:?}: {}", refused.stderr);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
    }
}

/// Airflow's stores all DAGs anew.
#[tokio::test]
async fn rendering_changes_nothing() {
    let site = Site::on(Server::Sqlite).await;
    let columns = json!([["dag_id", "TEXT"], ["last_updated", "TIMESTAMP"]]);
    let before = site.rows("serialized_dag", &columns).await;
    site.run(&["tasks", "render", "rendering", "many", "2021-02-03"]).expect_success();
    assert_eq!(site.rows("serialized_dag", &columns).await, before);
    for table in ["log", "rendered_task_instance_fields"] {
        assert_eq!(site.rows(table, &json!([["task_id", "TEXT"]])).await, Vec::<serde_json::Value>::new());
    }
    let runs = site.rows("dag_run", &json!([["dag_id", "TEXT"]])).await;
    assert!(!runs.contains(&json!(["rendering"])), "{runs:?}");
}
