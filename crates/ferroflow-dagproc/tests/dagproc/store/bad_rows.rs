//! Rows that cannot be read: they keep back no other DAG.

use ferroflow_db::testing::texts;
use ferroflow_model::Json;
use ferroflow_testkit::Server;
use jiff::ToSpan as _;

use crate::store::given::{NOW, Place, file, settings};

ferroflow_testkit::on_every_database!(a_dag_of_which_a_row_cannot_be_read_stays_as_it_is_beside_its_siblings);

/// A DAG that has rows in every table that its file is compared with.
fn dag(place: &Place, dag_id: &str, name: &str) -> Json {
    let asset = r#"{"__type": "asset", "name": "x", "uri": "x", "group": "asset", "extra": {}}"#;
    let timetable = format!(
        r#"{{"__type": "airflow.timetables.simple.AssetTriggeredTimetable", "__var": {{"asset_condition": {asset}}}}}"#
    );
    let fields = format!(
        r#""tags": ["{name}"], "owner_links": {{"ann": "https://{name}"}}, "description": "{name}","#
    );
    place.dag(dag_id, &fields, &timetable)
}

async fn a_dag_of_which_a_row_cannot_be_read_stays_as_it_is_beside_its_siblings(server: Server) {
    let place = Place::new(server).await;
    let parsed =
        |name: &str| file("file.py", ["bad", "good"].map(|dag_id| dag(&place, dag_id, name)).to_vec());
    place.store(parsed("first"), &settings(), NOW).await;
    let (spoil, mend) = match server {
        Server::Postgres => (
            "UPDATE serialized_dag SET last_updated = 'infinity' WHERE dag_id = 'bad'",
            "UPDATE serialized_dag SET last_updated = created_at WHERE dag_id = 'bad'",
        ),
        Server::Sqlite => (
            "UPDATE dag_code SET id = 'x' WHERE dag_id = 'bad'",
            "UPDATE dag_code SET id = '0191e8a0000070008000000000004242' WHERE dag_id = 'bad'",
        ),
        Server::MariaDb => (
            "SET check_constraint_checks = 0; UPDATE dag_version SET version_data = '{' WHERE dag_id = 'bad'",
            "UPDATE dag_version SET version_data = 'null' WHERE dag_id = 'bad'",
        ),
    };
    place.database.execute(spoil).await;

    let stored = place.store(parsed("second"), &settings(), NOW + 1.second()).await;
    assert_eq!(stored.dags.iter().map(|dag| dag.dag_id.as_str()).collect::<Vec<_>>(), ["good"]);
    let [left] = &stored.refused[..] else { panic!("{stored:?}") };
    assert_eq!(left.dag_id.as_deref(), Some("bad"));
    assert!(left.reason.contains("dag_version/latest_of: column"), "{}", left.reason);
    assert!(place.has_error().await);
    // It is neither taken for gone nor out of service.
    let row = place.row("bad").await;
    assert_eq!((row.is_stale, row.has_import_errors), (false, Some(false)));
    assert_eq!(row.last_parsed_time, Some(NOW + 1.second()));
    assert_eq!(row.description.as_deref(), Some("first"));
    assert_eq!(place.row("good").await.description.as_deref(), Some("second"));

    place.database.execute(mend).await;
    let stored = place.store(parsed("second"), &settings(), NOW + 2.seconds()).await;
    assert_eq!((stored.dags.len(), stored.refused.len()), (2, 0), "{stored:?}");
    assert_eq!(place.row("bad").await.description.as_deref(), Some("second"));
    assert!(!place.has_error().await);
}

#[tokio::test]
async fn what_a_file_says_anyway_is_written_over_what_cannot_be_read() {
    for (spoil, question) in [
        ("UPDATE dag_tag SET name = X'00ff'", "SELECT name AS answer FROM dag_tag WHERE name = 'name'"),
        ("UPDATE dag_owner_attributes SET link = X'00ff'", "SELECT link AS answer FROM dag_owner_attributes"),
        ("UPDATE asset SET extra = X'00ff'", "SELECT extra AS answer FROM asset WHERE extra = '{}'"),
        ("UPDATE asset SET \"group\" = X'00ff'", "SELECT \"group\" AS answer FROM asset"),
        ("UPDATE dag SET asset_expression = X'00ff'", "SELECT asset_expression AS answer FROM dag"),
        (
            "UPDATE dag_schedule_asset_reference SET allow_producer_teams = '{'",
            "SELECT dag_id AS answer FROM dag_schedule_asset_reference",
        ),
        (
            "PRAGMA foreign_keys = OFF; INSERT INTO asset_watcher (name, asset_id, trigger_id) VALUES ('w', 'many', 1)",
            "SELECT name AS answer FROM asset_watcher",
        ),
    ] {
        let place = Place::new(Server::Sqlite).await;
        let parsed = || file("file.py", vec![dag(&place, "d", "name")]);
        place.store(parsed(), &settings(), NOW).await;
        place.database.execute(spoil).await;
        let stored = place.store(parsed(), &settings(), NOW + 1.second()).await;
        assert_eq!((stored.dags.len(), stored.refused.len()), (1, 0), "{spoil}: {stored:?}");
        assert_eq!(texts(&place.db, question).await.unwrap().len(), 1, "{spoil}");
        assert_eq!(place.db.unreadable().take().len(), 1, "{spoil}");
    }
}
