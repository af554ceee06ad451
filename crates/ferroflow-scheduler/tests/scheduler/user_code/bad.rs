//! User code that raises, hangs, ends its process or answers nonsense: its DAG has a reason, and the others go on.

use std::collections::BTreeMap;
use std::time::Duration;

use ferroflow_telemetry::chain;
use ferroflow_testkit::Server;

use crate::user_code::site::{Site, examine, make_runs};

/// Long enough for what is good: a process is started within it.
const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_bad_weight_rule_holds_up_its_own_dag_alone() {
    let site = Site::new(Server::Sqlite, None).await;
    site.official(&["bad"]);
    let cx = site.scheduler(LIMIT).await;
    let created = make_runs(&cx).await;
    let made: Vec<&str> = created.created.iter().map(|run| run.dag_id.as_str()).collect();
    assert_eq!(made, ["raises_later", "shaped"]);
    let refused = reasons(&created);
    assert_eq!(refused.len(), 4, "{refused:?}");
    assert!(refused["raises"].contains("RuntimeError: the rule is broken"), "{refused:?}");
    assert!(refused["hangs"].contains("gave no answer within 20s and was ended"), "{refused:?}");
    assert!(refused["exits"].contains("ended while it was asked: exit code 3"), "{refused:?}");
    assert!(refused["odd"].contains("'heavy', which is no whole number"), "{refused:?}");
    // Who cost a process is not asked again at once.
    let again = make_runs(&cx).await;
    let refused = reasons(&again);
    assert!(refused["hangs"].contains("; it is asked again at "), "{refused:?}");
    assert!(refused["exits"].contains("; it is asked again at "), "{refused:?}");
}

#[tokio::test]
async fn a_run_whose_copies_cannot_be_weighed_is_left_as_it_is() {
    let site = Site::new(Server::Sqlite, None).await;
    site.official(&["bad"]);
    let cx = site.scheduler(LIMIT).await;
    make_runs(&cx).await;
    let before = site.official(&["finish", "dump"]);
    let problem = chain(&examine(&cx, "raises_later").await.unwrap_err());
    assert!(problem.contains("the rule is broken for copies"), "{problem}");
    assert_eq!(site.official(&["dump"]), before);
    examine(&cx, "shaped").await.unwrap();
    assert_ne!(site.official(&["dump"]), before, "another DAG goes on");
}

#[tokio::test]
async fn a_bad_hook_holds_up_its_own_dags_alone() {
    let site = Site::new(Server::Sqlite, Some("bad_hook")).await;
    site.official(&["bad"]);
    let cx = site.scheduler(LIMIT).await;
    let created = make_runs(&cx).await;
    let made: Vec<&str> = created.created.iter().map(|run| run.dag_id.as_str()).collect();
    assert_eq!(made, ["raises_later", "shaped"]);
    let refused = reasons(&created);
    assert!(refused["raises"].contains("RuntimeError: the"), "{refused:?}");
    assert!(refused["hangs"].contains("gave no answer within 20s and was ended"), "{refused:?}");
    assert!(refused["exits"].contains("ended while it was asked: exit code 3"), "{refused:?}");
    assert!(refused.contains_key("odd"), "{refused:?}");
}

fn reasons(created: &ferroflow_scheduler::create_runs::CreatedRuns) -> BTreeMap<&str, String> {
    created.refused.iter().map(|refused| (refused.dag_id.as_str(), refused.reason.to_string())).collect()
}
