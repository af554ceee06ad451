//! DAGs, their versions, bundles, warnings and import errors.

use ferroflow_db::dag::owner_attributes::{self, OwnerLink};
use ferroflow_db::dag::warning::{self, DagWarning};
use ferroflow_db::dag::{self, Dag, ParsedColumns, priority_parsing_request, tag};
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion, dag_code};
use ferroflow_db::import_error::{self, ImportError};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx, dag_bundle};
use ferroflow_model::timetable::{DataInterval, RunInfo};
use ferroflow_testkit::rows::{a_dag, add_dag};
use jiff::ToSpan as _;

use super::{stored, strings, within};
use crate::conformance::NOW;

pub(super) async fn run(db: &Db) {
    within(db, |tx| async move { bundles(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { parsed(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { scheduled(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { versions(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { errors(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { warnings(tx).await }.scope_boxed()).await;
}

async fn bundles(tx: &mut Tx) -> Result<(), Error> {
    dag_bundle::insert_if_missing(tx, "bundle").await?;
    dag_bundle::activate(tx, "bundle", Some("https://example.com"), &stored!({})).await?;
    dag_bundle::set_refreshed(tx, "bundle", None, NOW).await?;
    dag_bundle::set_refreshed(tx, "bundle", Some("v1"), NOW).await?;
    assert!(dag_bundle::set_team(tx, "bundle", Some("team")).await?);
    assert!(dag_bundle::set_team(tx, "bundle", Some("team")).await?);
    assert_eq!(ferroflow_db::trigger::team_of_bundle(tx, "bundle").await?.as_deref(), Some("team"));
    let found = dag_bundle::find(tx, "bundle").await?.flatten().unwrap();
    assert_eq!((found.version.as_deref(), found.last_refreshed), (Some("v1"), Some(NOW)));
    assert_eq!(dag_bundle::list(tx).await?, [found]);
    assert!(dag_bundle::deactivate(tx, "bundle").await?);
    Ok(())
}

async fn parsed(tx: &mut Tx) -> Result<(), Error> {
    dag::insert_if_missing(tx, "parsed", "bundle", false).await?;
    let ids = strings(["parsed"]);
    assert_eq!(dag::lock(tx, &ids).await?, ids);
    dag::update_parsed(tx, &columns(), NOW).await?;
    let row = dag::find(tx, "parsed").await?.unwrap();
    assert_eq!((row.owners.as_deref(), row.next_dagrun_create_after), (Some("airflow"), Some(NOW)));
    assert_eq!(dag::flag_import_errors(tx, "bundle", "parsed.py", &ids, &[]).await?, 1);
    dag::update_parsed(tx, &columns(), NOW).await?;
    assert_eq!(dag::active(tx).await?.len(), 1);
    let active = dag::active_of_bundle(tx, "bundle").await?;
    dag::set_found(tx, &ids, NOW + 1.second()).await?;
    assert!(!dag::set_stale(tx, &active[0]).await?, "it was parsed again");
    let active = dag::active_of_bundle(tx, "bundle").await?;
    assert!(dag::set_stale(tx, &active[0]).await?);
    owner_attributes::insert(tx, &link("a")).await?;
    owner_attributes::update(tx, &link("b")).await?;
    assert_eq!(owner_attributes::of_dags(tx, &ids).await?, [link("b")]);
    owner_attributes::delete(tx, "parsed", "owner").await?;
    tag::insert(tx, "parsed", "one").await?;
    tag::insert(tx, "parsed", "two").await?;
    tag::delete(tx, "parsed", "one").await?;
    assert_eq!(tag::of_dags(tx, &ids).await?, [("parsed".to_owned(), "two".to_owned())]);
    assert_eq!(dag::list::find_tagged(tx, "parsed").await?.unwrap().tags, ["two"]);
    priority_parsing_request::insert(tx, "0123456789abcdef0123456789abcdef", "bundle", "parsed.py").await?;
    let bundles = strings(["bundle"]);
    assert!(priority_parsing_request::is_any(tx, &bundles).await?);
    assert_eq!(priority_parsing_request::take(tx, &bundles).await?.len(), 1);
    Ok(())
}

fn link(to: &str) -> OwnerLink {
    OwnerLink { dag_id: "parsed".to_owned(), owner: "owner".to_owned(), link: to.to_owned() }
}

fn next_run() -> RunInfo {
    RunInfo {
        run_after: NOW,
        data_interval: Some(DataInterval::exact(NOW)),
        partition_date: Some(NOW),
        partition_key: Some("key".to_owned()),
    }
}

fn columns() -> ParsedColumns {
    ParsedColumns {
        dag_id: "parsed".to_owned(),
        last_parse_duration: 0.5,
        fileloc: Some("/parsed.py".to_owned()),
        relative_fileloc: Some("parsed.py".to_owned()),
        bundle_name: "bundle".to_owned(),
        bundle_version: None,
        owners: "airflow".to_owned(),
        dag_display_name: None,
        description: None,
        timetable_type: "timetable".to_owned(),
        timetable_summary: None,
        timetable_description: None,
        timetable_partitioned: false,
        timetable_periodic: true,
        partition_mapper_info: stored!([]),
        deadline: None,
        max_active_tasks: 1,
        max_active_runs: 1,
        max_consecutive_failed_dag_runs: 0,
        has_task_concurrency_limits: false,
        fail_fast: false,
        allowed_run_types: None,
        exceeds_max_non_backfill: false,
        next_run: Some(next_run()),
    }
}

async fn scheduled(tx: &mut Tx) -> Result<(), Error> {
    add_dag(tx, "dag").await?;
    let due = Dag { next_dagrun_create_after: Some(NOW), ..a_dag("due") };
    dag::insert(tx, &due).await?;
    let (found, last) = dag::scheduling::due(tx, NOW, None, 1).await?;
    assert_eq!(found.dags[0].dag_id, "due");
    assert!(dag::scheduling::due(tx, NOW, last.as_ref(), 1).await?.0.dags.is_empty());
    assert_eq!(dag::scheduling::find(tx, &["due"]).await?.dags, found.dags);
    assert_eq!(dag::scheduling::lock_free(tx, &["due"]).await?.dags, found.dags);
    assert_eq!(dag::scheduling::next_due(tx, NOW - 1.second()).await?, Some(NOW));
    dag::scheduling::set_next_run(tx, &["due"], Some(&next_run())).await?;
    dag::scheduling::set_exceeds(tx, &["due"], true).await?;
    dag::scheduling::recount_active(tx, "due").await?;
    assert!(!dag::find(tx, "due").await?.unwrap().exceeds_max_non_backfill);
    assert_eq!(dag::list::find_many(tx, &["due"]).await?.len(), 1);
    assert!(dag::list::names(tx).await?.contains(&"due".to_owned()));
    assert!(dag::pause::set(tx, "due", true).await?);
    assert_eq!(dag::pause::names(tx, true).await?, ["due"]);
    assert!(dag::pause::set(tx, "due", false).await?);
    Ok(())
}

async fn versions(tx: &mut Tx) -> Result<(), Error> {
    let new = NewDagVersion {
        dag_id: "dag".to_owned(),
        bundle_name: Some("dags-folder".to_owned()),
        bundle_version: None,
        version_data: None,
    };
    dag_version::insert(tx, &new, NOW).await?;
    let version = dag_version::insert(tx, &new, NOW).await?;
    let changed = NewDagVersion { bundle_version: Some("v2".to_owned()), ..new };
    dag_version::set_bundle(tx, version, &changed, NOW).await?;
    assert_eq!(dag_version::latest(tx, "dag").await?.unwrap().version_number, 2);
    let dag = NewSerializedDag {
        dag_id: "dag".to_owned(),
        dag_version_id: version,
        dag_hash: "hash".to_owned(),
        data: stored!({}),
    };
    serialized_dag::insert(tx, &dag, true, NOW).await?;
    serialized_dag::rewrite(tx, &dag, false, NOW).await?;
    dag_code::insert(tx, "dag", version, "/dag.py", "pass", NOW).await?;
    let stored = dag_version::latest_of(tx, &strings(["dag"])).await?;
    dag_code::update(tx, stored[0].dag_code_id.unwrap(), "pass # more", NOW).await?;
    let found = serialized_dag::find(tx, version).await?.unwrap();
    assert_eq!(serialized_dag::latest(tx, "dag").await?.unwrap(), found);
    assert_eq!(serialized_dag::latest_hash(tx, "dag").await?.unwrap().1, "hash");
    assert_eq!(serialized_dag::latest_hashes(tx, &["dag"]).await?["dag"].1, "hash");
    assert_eq!(serialized_dag::find_many(tx, &[version]).await?.len(), 1);
    assert_eq!(serialized_dag::stored(tx, &[version]).await?, [version]);
    Ok(())
}

async fn errors(tx: &mut Tx) -> Result<(), Error> {
    let error = |filename: &str| ImportError {
        bundle_name: "bundle".to_owned(),
        filename: filename.to_owned(),
        stacktrace: "SyntaxError".to_owned(),
    };
    let id = import_error::insert(tx, &error("a.py"), NOW).await?;
    import_error::insert(tx, &error("b.py"), NOW).await?;
    import_error::insert(tx, &error("c.py"), NOW).await?;
    import_error::update(tx, &error("a.py"), NOW).await?;
    assert_eq!(import_error::filenames(tx, "bundle", &["a.py", "z.py"]).await?, ["a.py"]);
    assert_eq!(import_error::files_of_bundle(tx, "bundle").await?.len(), 3);
    assert_eq!(import_error::count_by_bundle(tx).await?, [(Some("bundle".to_owned()), 3)]);
    assert_eq!(import_error::clear(tx, "bundle", "b.py").await?, 1);
    import_error::delete(tx, &[id]).await?;
    assert_eq!(import_error::list(tx).await?.len(), 1);
    assert_eq!(import_error::delete_of_bundle(tx, "bundle").await?, 1);
    Ok(())
}

async fn warnings(tx: &mut Tx) -> Result<(), Error> {
    let of = |dag_id: &str, message: &str| DagWarning {
        dag_id: dag_id.to_owned(),
        warning_type: "asset conflict".to_owned(),
        message: message.to_owned(),
    };
    warning::insert(tx, &of("dag", "one"), NOW).await?;
    warning::update(tx, &of("dag", "two")).await?;
    assert_eq!(warning::of_dags(tx, &strings(["dag"])).await?, [of("dag", "two")]);
    ferroflow_db::asset::orphans::warn(tx, &of("dag", "three"), NOW).await?;
    assert_eq!(ferroflow_db::asset::orphans::warnings(tx, "asset conflict").await?, [of("dag", "three")]);
    warning::delete(tx, "dag", "asset conflict").await?;
    // `parsed` is stale.
    warning::insert(tx, &of("parsed", "one"), NOW).await?;
    assert_eq!(warning::stale_dags(tx).await?, ["parsed"]);
    warning::delete_of_stale_dags_of_file(tx, "bundle", "parsed.py", &[]).await?;
    assert!(warning::of_dags(tx, &strings(["parsed"])).await?.is_empty());
    Ok(())
}
