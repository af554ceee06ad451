//! Many wait for rows that others have locked: there are more of them than connections.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_db::testing::texts;
use ferroflow_db::{Db, Options};
use ferroflow_execution::api::ExecutionApi;
use ferroflow_execution::{
    Delivered, HeldSlot, Host, InProcessApi, LOCK_PATIENCE, Reports, Service, Undelivered,
};
use ferroflow_model::state::TaskState;
use ferroflow_testkit::{HeldRows, Server};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::seed::{Seeded, THEN, instance, seeded};
use crate::service;

/// So many tell at once what became of them,
const CROWD: i32 = 40;

/// where there are so few connections.
const CONNECTIONS: u32 = 5;

#[tokio::test]
async fn a_crowd_that_waits_leaves_connections_to_others_on_postgres() {
    a_crowd_that_waits_leaves_connections_to_others(Server::Postgres).await;
}

#[tokio::test]
async fn a_crowd_that_waits_leaves_connections_to_others_on_mariadb() {
    a_crowd_that_waits_leaves_connections_to_others(Server::MariaDb).await;
}

async fn a_crowd_that_waits_leaves_connections_to_others(server: Server) {
    let instances: Vec<Seeded> =
        (0..=CROWD).map(|number| instance(number, "run", Some(TaskState::Running))).collect();
    let database = seeded(server, &instances).await;
    let options = Options { pool_size: CONNECTIONS, max_overflow: 0, ..database.options() };
    let db = Db::connect(&options).await.unwrap().with_lock_patience(LOCK_PATIENCE);
    let service = Arc::new(Service { db, ..service(&database).await });
    let mut crowd: Vec<Uuid> = instances.iter().map(|seeded| seeded.instance.id).collect();
    let lively = crowd.pop().unwrap();
    let held = HeldRows::of(&database, crowd.clone()).await;
    let mut telling = JoinSet::new();
    for seeded in instances.into_iter().take(crowd.len()) {
        telling.spawn(tell(Arc::clone(&service), seeded));
    }
    // Each of them waits once as long as anybody does, and then nobody else notices them: where each went on with that, this
    // would take minutes.
    let beats = async {
        for _ in 0..30 {
            let heard = service.heartbeats("host", &[(lively, 7)]).await.unwrap();
            assert!(heard.refused.is_empty() && heard.locked.is_empty());
        }
    };
    tokio::time::timeout(Duration::from_mins(1), beats).await.expect("there is a connection for others");
    assert_eq!(telling.len(), crowd.len(), "all of them wait");
    held.let_go().await;
    assert_eq!(telling.join_all().await, vec![Delivered::Stored; crowd.len()]);
    let running = "SELECT state AS answer FROM task_instance WHERE state = 'running'";
    assert_eq!(texts(&service.db, running).await.unwrap(), ["running"]);
}

async fn tell(service: Arc<Service>, seeded: Seeded) -> Delivered {
    let (host, hurry) = (Host { name: "host".to_owned(), user: "user".to_owned() }, CancellationToken::new());
    let api: Arc<dyn ExecutionApi> = Arc::new(InProcessApi::new(Service::clone(&service)));
    let reports = Reports {
        api: &api,
        id: seeded.instance.id,
        key: seeded.instance.key,
        try_number: 1,
        host: &host,
        pid: 7,
        hurry: &hurry,
        slot: HeldSlot::default(),
        undelivered: Undelivered::default(),
    };
    let success = json!({"state": "success", "end_date": THEN.to_string()});
    reports.report_state(&serde_json::from_value(success).unwrap()).await.unwrap()
}
