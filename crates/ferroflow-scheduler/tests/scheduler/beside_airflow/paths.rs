//! The paths of logs are those that Airflow renders.

use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::task_instance::{TaskInstance, TaskInstanceKey};
use ferroflow_db::{ScopedFutureExt as _, Tx};
use ferroflow_scheduler::LogPaths;
use ferroflow_testkit::rows::{a_run, add_dag};
use ferroflow_testkit::{Airflow, Server, TestDb};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::beside_airflow::SCRIPT;

const TEMPLATES: [&str; 16] = [
    "dag_id={{ ti.dag_id }}/run_id={{ ti.run_id }}/task_id={{ ti.task_id }}/{% if ti.map_index >= 0 %}map_index={{ ti.map_index }}/{% endif %}attempt={{ try_number|default(ti.try_number) }}.log",
    "{{ ti.dag_id }}/{{ ti.task_id }}/{{ ts }}/{{ try_number }}.log",
    "{{ ti.dag_id }}/{{ ti.run_id.replace(':', '_') }}/{{ ti.task_id | replace('.', '/') }}.log",
    "{{ ti.logical_date }}/{{ ti.logical_date.isoformat() }}/{{ ti.task_id }}.log",
    "{{ ti.logical_date.strftime('%Y/%m/%d/%H-%M-%S.%f') }}/{{ ti.task_id }}",
    "{{ ti.dag_run.logical_date.year }}/{{ ti.dag_run.logical_date.month }}/{{ ti.dag_run.run_type }}",
    "{{ ti.pool | upper }}-{{ ti.queue.upper() }}-{{ ti.try_number + 1 }}",
    "{% for part in ti.task_id.split('.') %}{{ part }}/{% endfor %}{{ ti.try_number }}.log",
    "{{ ti.missing }}|{{ ti.missing | default('x') }}",
    "{{ ti.missing.deeper }}",
    "{{ ti.dag_id ~ '/' ~ ti.task_id }}/{{ ti.try_number if ti.map_index < 0 else ti.map_index }}",
    "{dag_id}/{task_id}/{logical_date}/{try_number}.log",
    "{dag_id}/{{literal}}/{task_id}.log",
    "{dag_id}/{run_id}.log",
    "{dag_id}/{task_id",
    "{{ ti.dag_id",
];

#[tokio::test]
async fn paths_are_airflows() {
    let database = TestDb::migrated(Server::Sqlite).await;
    let db = database.connect().await;
    let run = db.transact(|tx| run(tx).scope_boxed()).await.unwrap();
    let asked = serde_json::to_string(&TEMPLATES).unwrap();
    let output = Airflow::on(&database.url()).python(SCRIPT, &["paths"], &asked).expect_success();
    let answers: Vec<Value> = output
        .lines()
        .filter(|line| line.starts_with("{\"template\""))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), TEMPLATES.len());
    let instances = [("group.task", -1, 1), ("é", 12, 3)]
        .map(|(task_id, map_index, try_number)| instance(&run, task_id, map_index, try_number));
    for answer in &answers {
        let template = answer["template"].as_str().unwrap();
        let ours = LogPaths::new(template).and_then(|paths| {
            instances.iter().map(|instance| paths.path(&run, instance)).collect::<Result<Vec<String>, _>>()
        });
        match answer["paths"].as_array() {
            Some(paths) => assert_eq!(&ours.unwrap(), paths, "{template}"),
            None => assert!(ours.is_err(), "{template}: {ours:?}"),
        }
    }
}

const RUN: &str = "manual__2024-06-01T12:30:00+00:00";

async fn run(tx: &mut Tx) -> Result<DagRun, ferroflow_db::Error> {
    let date: Timestamp = "2024-06-01T12:30:00.000250Z".parse().unwrap();
    add_dag(tx, "a.dag").await?;
    dag_run::insert(tx, &a_run("a.dag", RUN, date), date).await?;
    Ok(dag_run::find(tx, "a.dag", RUN).await?.unwrap())
}

fn instance(run: &DagRun, task_id: &str, map_index: i32, try_number: i32) -> TaskInstance {
    let key = TaskInstanceKey {
        dag_id: run.dag_id.clone(),
        run_id: run.run_id.clone(),
        task_id: task_id.to_owned(),
        map_index,
    };
    let new = TaskInstance::new(Uuid::nil(), key, run.run_after);
    TaskInstance { try_number, pool: "p".to_owned(), queue: Some("q".to_owned()), ..new }
}
