//! A task asks for what it may not have, or what is not there: it is told as by Airflow, and goes on.

use ferroflow_testkit::Server;

use crate::faults::stage::Stage;

const ASKING: &str = r#"
from airflow.sdk import Connection
from airflow.sdk.execution_time import comms

OTHER = "0193b1a0-0000-7000-8000-000000000001"

def attempt(name, ask):
    try:
        trace(f"{name}:", "got", repr(ask()))
    except BaseException as error:
        trace(f"{name}:", type(error).__name__, str(error).replace("\n", " "))

def asks_for_what_no_file_may_have():
    from airflow.sdk.execution_time import task_runner
    attempt("at import", lambda: task_runner.SUPERVISOR_COMMS.send(comms.GetAssetByName(name="missing")))

asks_for_what_no_file_may_have()
"#;

const TASKS: &str = r#"
@task
def asks():
    from airflow.sdk.execution_time import task_runner
    send = task_runner.SUPERVISOR_COMMS.send
    ti = get_current_context()["ti"]
    attempt("variable", lambda: Variable.get("missing"))
    attempt("variable with default", lambda: Variable.get("missing", default=7))
    attempt("connection", lambda: Connection.get("missing"))
    attempt("xcom", lambda: ti.xcom_pull(task_ids="asks", key="missing"))
    attempt("xcom of no run", lambda: send(comms.GetXCom(key="k", dag_id="no", run_id="no", task_id="no")))
    attempt("state of another", lambda: send(comms.GetTaskStateStore(ti_id=OTHER, key="k")))
    attempt("set state of another", lambda: send(
        comms.SetTaskStateStore(ti_id=OTHER, key="k", value=1, expires_at=None)))
    attempt("reschedules of another", lambda: send(comms.GetTaskRescheduleStartDate(ti_id=OTHER)))
    attempt("assets of another", lambda: send(comms.ValidateInletsAndOutlets(ti_id=OTHER)))
    attempt("question of another", lambda: send(
        comms.CreateHITLDetailPayload(ti_id=OTHER, options=["a"], subject="s")))
    attempt("run of no dag", lambda: send(comms.TriggerDagRun(dag_id="nowhere", run_id="r")))
    attempt("state of no run", lambda: send(comms.GetDagRunState(dag_id="nowhere", run_id="r")))
    attempt("asset", lambda: send(comms.GetAssetByName(name="missing")))
    ran()

@task
def uses_the_database():
    from airflow import settings
    attempt("session", lambda: settings.Session())
    attempt("engine", lambda: settings.engine)
    attempt("orm", lambda: settings.configure_orm())
    def query():
        from airflow.models import DagRun
        from airflow.utils.session import create_session
        with create_session() as session:
            return session.query(DagRun).all()
    attempt("query", query)
    ran()

@task
def writes_a_broken_frame():
    ran()
    os.write(0, b"\x00\x00\x00\x04\xc1\xc1\xc1\xc1")
    attempt("after a broken frame", lambda: Variable.get("missing"))

@task
def writes_a_frame_without_end():
    ran()
    os.write(0, b"\xff\xff\xff\xff" + b"garbage")
    attempt("after an endless frame", lambda: Variable.get("missing"))

[asks(), uses_the_database(), writes_a_broken_frame(), writes_a_frame_without_end()]
"#;

#[tokio::test]
async fn what_a_task_may_not_have_is_refused_as_by_airflow() {
    let stage = Stage::on(Server::Postgres).await;
    stage.write(ASKING, TASKS);
    let (is_good, output) = stage.run(90);
    assert!(!is_good, "{output}");
    let trace = stage.trace();
    let another = "AirflowRuntimeError API_SERVER_ERROR: {'status_code': 403, 'message': 'Server returned error', \
                   'detail': {'detail': 'Token subject does not match task instance ID'}}";
    let not_found = |message: &str| {
        format!(
            "AirflowRuntimeError API_SERVER_ERROR: {{'status_code': 404, 'message': 'Server returned error', \
             'detail': {{'detail': {{'reason': 'not_found', 'message': {message}}}}}}}"
        )
    };
    for (asked, told) in [
        ("variable", "AirflowRuntimeError VARIABLE_NOT_FOUND: {'message': 'Variable missing not found'}"),
        ("variable with default", "got 7"),
        ("connection", "AirflowNotFoundException The conn_id `missing` isn't defined"),
        ("xcom", "got None"),
        ("xcom of no run", "got XComResult(key='k', value=None, type='XComResult')"),
        ("state of another", another),
        ("set state of another", another),
        ("reschedules of another", another),
        ("assets of another", another),
        ("question of another", another),
        ("run of no dag", &not_found("\"Dag with dag_id: 'nowhere' not found\"")),
        ("state of no run", &not_found("\"Dag run with dag_id 'nowhere' and run_id 'r' was not found\"")),
        ("session", "RuntimeError Direct database access via the ORM is not allowed in Airflow 3.0"),
        ("engine", "AttributeError Access to the Airflow Metadatabase from dags is not allowed!"),
        ("orm", "RuntimeError Database access is disabled from Dags and Triggers"),
        ("query", "RuntimeError Direct database access via the ORM is not allowed in Airflow 3.0"),
    ] {
        assert_eq!(stage.count(&format!("{asked}: {told}")), 1, "{asked}: {trace:#?}");
    }
    assert!(
        trace.iter().any(|line| line.starts_with("asset: ") && line.contains("ASSET_NOT_FOUND")),
        "{trace:#?}"
    );

    // The log says who asked.
    let failed: Vec<&str> =
        output.lines().filter(|line| line.contains("a request of user code failed")).collect();
    let has = |words: &[&str]| failed.iter().any(|line| words.iter().all(|word| line.contains(word)));
    let task = ["dag_id=\"faults\"", "run_id=\"manual__", "task_id=\"asks\"", "try_number=1"];
    assert!(has(&[&task[..], &["request=\"SetTaskStateStore\""]].concat()), "{failed:#?}");
    assert!(has(&["errand=\"DAG file /", "/faults.py\"", "request=\"GetAssetByName\""]), "{failed:#?}");

    let states = stage.states().await;
    assert_eq!((&*states["asks"], &*states["uses_the_database"]), ("success 1", "success 1"), "{output}");
    // Nobody can tell what such a task wanted to say, or whether it has succeeded.
    for task in ["writes_a_broken_frame", "writes_a_frame_without_end"] {
        assert_eq!(
            (states[task].as_str(), stage.count(&format!("ran {task} 1"))),
            ("failed 1", 1),
            "{output}"
        );
        let log = stage.log(task, 1);
        let told =
            log.iter().filter(|record| record["event"].as_str().unwrap().contains("file descriptor 0"));
        assert_eq!(told.count(), 1, "{task}: {log:?}");
    }
}

/// As Airflow's supervisor sends them: a zone of another kind is seen in `repr`, in rendered fields and in `XComs`.
#[tokio::test]
async fn times_have_the_zone_that_airflow_gives_them() {
    let stage = Stage::on(Server::Sqlite).await;
    stage.write(
        "",
        r#"
@task
def tells():
    context = get_current_context()
    run, ti = context["dag_run"], context["ti"]
    own = [ti.start_date]
    of_run = [run.logical_date, run.data_interval_start, run.data_interval_end, run.run_after, run.start_date]
    for when in own + of_run:
        trace(repr(when.tzinfo) if when else None)
tells()
"#,
    );
    let (is_good, output) = stage.run(90);
    assert!(is_good, "{output}");
    assert_eq!(stage.trace(), ["datetime.timezone.utc"; 6], "{output}");
}
