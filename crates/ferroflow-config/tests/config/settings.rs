//! Typed settings: defaults, wrong values, secrets.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ferroflow_config::{Configuration, Environment, Settings, Unheeded, UnheededKind};
use tempfile::TempDir;

/// A configuration that lives as long as its directory.
struct Home(TempDir);

impl Home {
    fn new(file: &str) -> Self {
        let root = TempDir::new().unwrap();
        fs::write(root.path().join("airflow.cfg"), file).unwrap();
        Self(root)
    }

    fn load(&self, variables: &[(&str, &str)]) -> Configuration {
        let environment = Environment::empty(self.0.path())
            .with("AIRFLOW_HOME", self.0.path())
            .with("HOME", "/home/me")
            .with("PATH", "/usr/bin:/bin");
        let environment =
            variables.iter().fold(environment, |environment, (name, value)| environment.with(name, value));
        Configuration::load(&environment).unwrap()
    }

    fn problems(&self, variables: &[(&str, &str)]) -> Vec<String> {
        let invalid = Settings::load(&self.load(variables)).unwrap_err();
        invalid.problems.iter().map(|line| line.replace(self.0.path().to_str().unwrap(), "~")).collect()
    }
}

#[test]
fn every_default_is_valid() {
    let home = Home::new("");
    let settings = Settings::load(&home.load(&[])).unwrap();
    assert_eq!(settings.core.parallelism, 32);
    assert_eq!(settings.core.dags_folder, home.0.path().join("dags"));
    assert_eq!(settings.core.fernet_key, None);
    assert_eq!(settings.core.default_task_execution_timeout, None);
    assert_eq!(settings.core.default_pool_task_slot_count, 128);
    assert_eq!(settings.database.pool_recycle(), Some(Duration::from_mins(30)));
    assert_eq!(settings.database.sql_alchemy_schema, None);
    assert_eq!(settings.scheduler.num_stuck_in_queued_retries, 2);
    assert_eq!(settings.scheduler.task_queued_timeout, Duration::from_mins(10));
    assert_eq!(settings.logging.file_task_handler_new_folder_permissions, 0o775);
    assert_eq!(settings.api.secret_key, None);
    assert_eq!(settings.celery.operation_timeout, Duration::from_secs(1));
    assert_eq!(settings.dag_processor.dag_bundle_config_list.unwrap()[0]["name"], "dags-folder");
    assert_eq!(settings.ferroflow.database_statement_cache, 100);
}

/// Each of these means something to Airflow: off, no limit, never.
#[test]
fn what_airflow_gives_a_meaning_to_is_not_refused() {
    let home = Home::new(
        "[core]\ndagbag_import_timeout = -1\nnum_dag_runs_to_retain_rendered_fields = 0\n\
         max_consecutive_failed_dag_runs_per_dag = -1\nmax_map_length = 9999999999\n\
         [database]\nsql_alchemy_pool_recycle = -5\n\
         [dag_processor]\nprint_stats_interval = 0\nstale_bundle_cleanup_interval = -1\n\
         [scheduler]\nnum_runs = 0\nscheduler_heartbeat_sec = 0.5\npool_metrics_interval = inf\n\
         [triggerer]\ncapacity = 0\nrunner_health_check_threshold = 0\nshared_stream_subscriber_queue_size = 0\n\
         shared_stream_cohort_grace_period = -1\n\
         [workers]\nmissing_dag_retries = -1\n\
         [state_store]\nstate_cleanup_batch_size = -1\nmax_value_storage_bytes = 0\n\
         [callbacks]\ncallback_execution_timeout = -1\n\
         [api]\nworker_refresh_interval = -1\nmaximum_page_limit = 0\n\
         [metrics]\notel_interval_milliseconds = 500.5\n",
    );
    let settings = Settings::load(&home.load(&[])).unwrap();
    assert_eq!(settings.core.dagbag_import_timeout, None);
    assert_eq!(settings.core.num_dag_runs_to_retain_rendered_fields, None);
    assert_eq!(settings.core.max_consecutive_failed_dag_runs_per_dag, -1);
    assert_eq!(settings.core.max_map_length, u32::MAX);
    assert_eq!(settings.database.pool_recycle(), None);
    assert_eq!(settings.dag_processor.print_stats_interval, None);
    assert_eq!(settings.dag_processor.stale_bundle_cleanup_interval, None);
    assert_eq!(settings.scheduler.num_runs, None);
    assert_eq!(settings.scheduler.scheduler_heartbeat_sec, Duration::from_millis(500));
    assert!(settings.scheduler.pool_metrics_interval > Duration::from_hours(24 * 365 * 100));
    assert_eq!(settings.triggerer.runner_health_check_threshold, None);
    assert_eq!(settings.triggerer.shared_stream_subscriber_queue_size, None);
    assert_eq!(settings.triggerer.shared_stream_cohort_grace_period, None);
    assert_eq!(settings.workers.missing_dag_retries, None);
    assert_eq!(settings.state_store.state_cleanup_batch_size, None);
    assert_eq!(settings.state_store.max_value_storage_bytes, None);
    assert_eq!(settings.callbacks.callback_execution_timeout, None);
    assert_eq!(settings.api.worker_refresh_interval, None);
    assert_eq!(settings.metrics.otel_interval_milliseconds, Some(Duration::from_micros(500_500)));
}

#[test]
fn all_wrong_values_are_reported_at_once() {
    let home = Home::new(
        "[scheduler]\nmax_tis_per_query = many\nparsing_cleanup_interval = -1\n\
         [logging]\nlogging_level = LOUD\n[core]\nload_examples = perhaps\n\
         [dag_processor]\ndag_bundle_config_list = [\n",
    );
    assert_eq!(
        home.problems(&[("AIRFLOW__API__PORT", "99999"), ("AIRFLOW__DATABASE__SQL_ALCHEMY_POOL_SIZE", "-2")]),
        [
            "~/airflow.cfg:7 [core] load_examples = \"perhaps\": expected true or false (also t, f, 1, 0)",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_POOL_SIZE = \"-2\": expected a whole number, 0 or more",
            "~/airflow.cfg:5 [logging] logging_level = \"LOUD\": \
             expected one of CRITICAL, FATAL, ERROR, WARN, WARNING, INFO, DEBUG",
            "AIRFLOW__API__PORT = \"99999\": expected a port number, 0 to 65535",
            "~/airflow.cfg:3 [scheduler] parsing_cleanup_interval = \"-1\": expected a number of seconds, 0 or more",
            "~/airflow.cfg:2 [scheduler] max_tis_per_query = \"many\": expected a whole number, 0 or more",
            "~/airflow.cfg:9 [dag_processor] dag_bundle_config_list = \"[\": \
             expected JSON (EOF while parsing a list at line 1 column 1)",
        ]
    );
}

#[test]
fn the_place_of_a_wrong_value_is_where_it_was_written() {
    let home = Home::new(
        "[webserver]\nweb_server_port = x\n[database]\nsql_alchemy_engine_args_cmd = echo nonsense\n",
    );
    assert_eq!(
        home.problems(&[]),
        [
            "output of ~/airflow.cfg:4 [database] sql_alchemy_engine_args_cmd = (hidden): \
             expected JSON (expected ident at line 1 column 2)",
            "~/airflow.cfg:2 [webserver] web_server_port = \"x\": expected a port number, 0 to 65535",
        ]
    );
}

#[test]
fn a_failing_command_is_one_of_the_problems() {
    let home = Home::new("[core]\nfernet_key_cmd = sh -c 'echo locked >&2; exit 4'\n");
    assert_eq!(
        home.problems(&[]),
        ["~/airflow.cfg:2 [core] fernet_key_cmd: the command `sh -c 'echo locked >&2; exit 4'` failed: \
          exit status: 4, locked"]
    );
}

#[test]
fn secrets_stay_out_of_debug_output() {
    let home = Home::new("[core]\nfernet_key = s3cret-key\n");
    let configuration = home.load(&[("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://u:s3cret@h/d")]);
    let settings = Settings::load(&configuration).unwrap();
    assert_eq!(settings.database.sql_alchemy_conn.expose(), "postgresql://u:s3cret@h/d");
    assert!(!format!("{settings:?}").contains("s3cret"));
    assert!(!format!("{:?}", configuration.get("core", "fernet_key")).contains("s3cret"));
    assert!(!format!("{configuration:?}").contains("s3cret"));
}

#[test]
fn the_newline_of_a_command_is_no_part_of_a_secret() {
    let home = Home::new("[database]\nsql_alchemy_conn_cmd = echo postgresql://u:p@h/d\n");
    let settings = Settings::load(&home.load(&[])).unwrap();
    assert_eq!(settings.database.sql_alchemy_conn.expose(), "postgresql://u:p@h/d");
}

#[test]
fn warnings_say_what_to_change() {
    let home = Home::new(
        "[core]\nexecutor = SequentialExecutor\nparallelism_cmd = echo 3\nairflow_home = /x\nfernet_key_secret = p\n\
         [triggerer]\ndefault_capacity = 5\n[database]\nsql_alchemy_conn = postgres://u:s3cret@h/d\n",
    );
    let configuration = home.load(&[("AIRFLOW__WEBSERVER__BASE_URL", "http://h")]);
    let warnings: Vec<String> = configuration
        .warnings()
        .iter()
        .map(|warning| warning.to_string().replace(home.0.path().to_str().unwrap(), "~"))
        .collect();
    assert_eq!(
        warnings,
        [
            "AIRFLOW__WEBSERVER__BASE_URL is a former name: since 3.0 it is [api] base_url",
            "~/airflow.cfg:7 [triggerer] default_capacity is a former name: since 3.0 it is [triggerer] capacity",
            "~/airflow.cfg:2 [core] executor has a value that is no longer valid; \
             \"LocalExecutor\" is used in its place",
            "~/airflow.cfg:9 [database] sql_alchemy_conn has a value that is no longer valid; \
             the scheme postgresql:// is used in its place",
            "~/airflow.cfg:4 [core] airflow_home has no effect: \
             only the environment variable AIRFLOW_HOME is obeyed",
            "~/airflow.cfg:3 [core] parallelism_cmd has no effect: only sensitive options can come from a command",
            "~/airflow.cfg:5 [core] fernet_key_secret has no effect: [secrets] backend is not set",
        ]
    );
}

#[test]
fn a_secrets_backend_is_refused_with_a_way_out() {
    let home = Home::new("[secrets]\nbackend = my.Backend\n[core]\nfernet_key_secret = p\n");
    assert_eq!(
        home.problems(&[]),
        [
            "~/airflow.cfg:4 [core] fernet_key_secret asks for a value from the secrets backend my.Backend, which \
          ferroflow cannot consult; set [core] fernet_key by an environment variable or by a command (fernet_key_cmd)"
        ]
    );
}

#[test]
fn the_home_of_a_relative_path_is_the_current_directory() {
    let root = TempDir::new().unwrap();
    let environment = Environment::empty(root.path()).with("AIRFLOW_HOME", "here");
    let configuration = Configuration::load(&environment).unwrap();
    assert_eq!(configuration.path(), root.path().join("here/airflow.cfg"));
    assert_eq!(Path::new(configuration.airflow_home()), PathBuf::from("here"));
}

#[test]
fn unit_test_mode_changes_no_default() {
    let variables = [("AIRFLOW__CORE__UNIT_TEST_MODE", "True")];
    let settings = Settings::load(&Home::new("").load(&variables)).unwrap();
    assert!(settings.core.unit_test_mode);
    assert!(settings.core.load_examples, "Airflow's tests run without examples");
}

#[test]
fn provider_sections_need_no_provider() {
    let configuration = Home::new("").load(&[]);
    for (section, key) in [("celery", "worker_concurrency"), ("kubernetes_executor", "namespace")] {
        assert!(configuration.get(section, key).unwrap().is_some(), "[{section}] {key}");
    }
}

#[test]
fn variables_that_refer_to_themselves_are_an_error() {
    let configuration = Home::new("[core]\nexecutor = $LOOP\n").load(&[("LOOP", "again $LOOP")]);
    let error = configuration.get("core", "executor").unwrap_err().to_string();
    assert!(error.contains("refer to themselves"), "{error}");
}

#[test]
fn what_is_configured_without_effect_is_told_with_its_place() {
    let home = Home::new(
        "[core]\nparallelism = 4\nmp_start_method = spawn\nparalelism = 8\n[logging]\nremote_logging = True\n\
         [traces]\notel_on = False\n[api]\ninstance_name = ours\n[somebodys_provider]\nthing = 1\n",
    );
    let told = home.load(&[
        ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS", "my.arguments"),
        ("AIRFLOW__SCHEDULER__NUM_RUNZ", "3"),
        ("AIRFLOW__CORE__FERNET_KEY_CMD", "echo"),
        ("AIRFLOW__WEBSERVER__SECRET_KEY", "former name"),
    ]);
    let shown: Vec<String> = told
        .unheeded()
        .into_iter()
        .map(|Unheeded { place, option, kind }| {
            let kind = match kind {
                UnheededKind::OtherComponent => "other component".to_owned(),
                UnheededKind::Needless { .. } => "needless".to_owned(),
                UnheededKind::NotDone { .. } => "not done".to_owned(),
                UnheededKind::Unknown { near } => format!("unknown, near {near:?}"),
            };
            format!("{}: {option}: {kind}", place.replace(home.0.path().to_str().unwrap(), "~"))
        })
        .collect();
    let expected = [
        "~/airflow.cfg:3 [core] mp_start_method: [core] mp_start_method: needless",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS: [database] sql_alchemy_connect_args: not done",
        "~/airflow.cfg:6 [logging] remote_logging: [logging] remote_logging: not done",
        "~/airflow.cfg:10 [api] instance_name: [api] instance_name: other component",
        "~/airflow.cfg:4 [core] paralelism: [core] paralelism: unknown, near [\"parallelism\"]",
        "AIRFLOW__SCHEDULER__NUM_RUNZ: [scheduler] num_runz: unknown, near [\"num_runs\"]",
    ];
    assert_eq!(shown, expected);
}
