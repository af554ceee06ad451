//! A DAG whose row another transaction holds keeps no other waiting: neither those of its file, nor its bundle.

use ferroflow_db::{ScopedFutureExt as _, dag};
use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, wait_until};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::dag_processing::FERROFLOW;

/// More than results of one child may wait to be stored.
const LOCKED: usize = 6;

/// Rows of DAGs, held until it is told to let go.
struct Held {
    let_go: oneshot::Sender<()>,
    holder: JoinHandle<()>,
}

impl Held {
    async fn new(place: &Place, dag_ids: Vec<String>) -> Self {
        let db = place.db().connect().await;
        let (let_go, letting_go) = oneshot::channel::<()>();
        let (told, is_held) = oneshot::channel::<()>();
        let mut once = Some((told, letting_go));
        let holder = tokio::spawn(async move {
            let hold = db.transact(|tx| {
                let (dag_ids, once) = (dag_ids.clone(), once.take());
                async move {
                    dag::lock(tx, &dag_ids).await?;
                    let (told, letting_go) = once.expect("there is nothing to wait for");
                    told.send(()).expect("somebody waits");
                    drop(letting_go.await);
                    Ok(())
                }
                .scope_boxed()
            });
            hold.await.expect("the rows are held");
        });
        is_held.await.expect("the rows are held");
        Self { let_go, holder }
    }

    async fn let_go(self) {
        self.let_go.send(()).expect("it waits");
        self.holder.await.expect("it ends");
    }
}

async fn a_locked_dag_keeps_no_other_waiting(server: Server) {
    let place = Place::on(server)
        .await
        .with("AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES", "1")
        .with("AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL", "1")
        .with("AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL", "1");
    let locked: Vec<String> = (0..LOCKED).map(|number| format!("locked_{number}")).collect();
    for dag_id in locked.iter().map(String::as_str).chain(["gone_and_free", "gone_and_locked"]) {
        place.write_dag(dag_id);
    }
    let mut running = place.start(FERROFLOW, &["dag-processor"]);
    let mut observer = place.observe();
    assert!(wait_until(90, || observer.serialized().len() == LOCKED + 2), "{}", running.log());

    let held = Held::new(&place, [locked.clone(), vec!["gone_and_locked".to_owned()]].concat()).await;
    let last_parse = json!(["parsed", "locked_0"]);
    let before = observer.ask(&last_parse);
    for dag_id in ["gone_and_free", "gone_and_locked"] {
        std::fs::remove_file(place.file(&format!("{dag_id}.py"))).expect("it is there");
    }
    place.write_dag("new");
    let expected = |last: &str| {
        let mut ids: Vec<String> = locked.iter().cloned().chain(["new".to_owned()]).collect();
        ids.extend((!last.is_empty()).then(|| last.to_owned()));
        ids.sort();
        ids
    };
    let others_go_on = wait_until(60, || observer.serialized() == expected("gone_and_locked"));
    assert!(others_go_on, "{:?}\n{}", observer.serialized(), running.log());
    assert_eq!(observer.ask(&last_parse), before, "it is locked");

    held.let_go().await;
    let is_done = wait_until(60, || observer.serialized() == expected(""));
    assert!(is_done, "{:?}\n{}", observer.serialized(), running.log());
    assert!(wait_until(60, || observer.ask(&last_parse) != before), "{}", running.log());
    running.terminate();
    assert_eq!(running.wait_for_end(30), Some(0), "{}", running.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_dag_keeps_no_other_waiting_on_postgres() {
    a_locked_dag_keeps_no_other_waiting(Server::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_dag_keeps_no_other_waiting_on_mariadb() {
    a_locked_dag_keeps_no_other_waiting(Server::MariaDb).await;
}
