//! DAG bundles, by the real Airflow.

use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use crate::helpers::home::Home;
use ferroflow_python::bundles::{BundleError, Bundles};
use serde_json::json;

const LIMIT: Duration = Duration::from_mins(2);
const LOCAL: &str = "airflow.dag_processing.bundles.local.LocalDagBundle";

#[tokio::test]
async fn bundles_of_any_class_are_listed_initialized_and_refreshed() {
    let home = Home::shared().await;
    let bundles = Bundles::new(home.server.clone(), LIMIT);
    let listed = bundles.list().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|bundle| bundle.name.as_str()).collect();
    assert_eq!(names, ["plain", "own", "slow", "fast", "connected"]);
    assert_eq!(listed[0].local_path.as_deref(), Some(home.path().join("dags").as_path()));
    assert_eq!((listed[1].classpath.as_str(), &listed[1].local_path), ("own_parts.OwnBundle", &None));
    assert_eq!(listed[1].kwargs.value().unwrap()["refresh_interval"], 7);

    let described = bundles.describe("own").await.unwrap();
    assert_eq!(described.refresh_interval, Duration::from_secs(7));
    assert!(described.supports_versioning && described.signed_url_template.unwrap().contains('.'));
    assert_eq!(described.template_params.text(), "{}");
    let initialized = bundles.initialize("own").await.unwrap();
    assert_eq!(
        (initialized.path.as_path(), initialized.version.as_deref()),
        (Path::new("/srv/dags/head"), Some("v0"))
    );
    let refreshed = bundles.refresh("own").await.unwrap();
    assert_eq!(refreshed.version.as_deref(), Some("v1"));
    assert_eq!(refreshed.version_data.unwrap().text(), r#"{"files": 1}"#);
    assert_eq!(
        bundles.version("own").await.unwrap().version.as_deref(),
        Some("v1"),
        "it is the same process"
    );
    let past = bundles.initialize_version("own", Some("v7")).await.unwrap();
    assert_eq!(past, Path::new("/srv/dags/v7"));
    bundles.remove_stale_versions().await.unwrap();
    let unknown = bundles.refresh("other").await.unwrap_err();
    assert_eq!(unknown.to_string(), "DAG bundle other: it cannot be refreshed");
    assert!(unknown.source().unwrap().to_string().contains("'other' is not configured"));
}

#[tokio::test]
async fn a_bundle_that_hangs_holds_back_no_other() {
    let bundles = Bundles::new(Home::shared().await.server.clone(), Duration::from_secs(8));
    let (slow, fast) = tokio::join!(bundles.initialize("slow"), bundles.initialize("fast"));
    assert!(fast.is_ok(), "{fast:?}");
    let slow = slow.unwrap_err();
    assert!(
        slow.source().unwrap().to_string().contains("DAG bundle slow gave no answer within 8s"),
        "{slow:?}"
    );
}

#[tokio::test]
async fn a_version_that_hangs_holds_back_neither_its_bundle_nor_other_versions() {
    let bundles = Bundles::new(Home::shared().await.server.clone(), LIMIT);
    let hangs = bundles.initialize_version("fast", Some("hangs"));
    let others =
        async { tokio::join!(bundles.refresh("fast"), bundles.initialize_version("fast", Some("v7"))) };
    tokio::select! {
        biased;
        hung = hangs => panic!("{hung:?}"),
        (refreshed, version) = others => {
            assert_eq!(refreshed.unwrap().path, Path::new("/srv/head"));
            assert_eq!(version.unwrap(), Path::new("/srv/v7"));
        }
    }
}

#[tokio::test]
async fn a_wrong_list_is_an_error_that_says_what_airflow_says() {
    let list = json!([{"name": "example_dags", "classpath": LOCAL, "kwargs": {}}]);
    let folder = tempfile::TempDir::new().unwrap();
    let home = Home::with_bundles(folder.path(), &list).await;
    let error = Bundles::new(home.server.clone(), LIMIT).list().await.unwrap_err();
    assert!(matches!(error, BundleError::Configuration(_)));
    assert!(error.source().unwrap().to_string().contains("is a reserved name"), "{error:?}");
}

/// As the bundles of the Git provider do.
#[tokio::test]
async fn a_bundle_reads_its_connection_from_the_metadata_database() {
    let bundles = Bundles::new(Home::shared().await.server.clone(), LIMIT);
    let initialized = bundles.initialize("connected").await.unwrap();
    assert_eq!(initialized.path, Path::new("/srv/from_the_database"));
}
