//! What becomes of runs of many shapes.

use ferroflow_model::readiness::RunVerdict;
use ferroflow_model::state::RunState;
use ferroflow_scheduler::foreground_run::End;
use ferroflow_testkit::Server;
use serde_json::json;

use crate::driven::fake::{Does, Script};
use crate::driven::place::Place;
use crate::driven::sketch::Sketch;

ferroflow_testkit::on_every_database!(
    a_chain_runs_one_by_one,
    a_failure_goes_down_the_chain,
    trigger_rules_hold,
    a_branch_skips_what_it_does_not_follow,
    a_task_becomes_as_many_as_are_pushed,
    a_list_in_the_dag_is_mapped_from_the_beginning,
    results_of_mapped_tasks_are_mapped_over,
    an_empty_list_skips,
    nothing_to_map_over_fails,
    what_does_nothing_succeeds_at_once,
    teardowns_run_and_do_not_count,
    many_tasks_are_made_in_batches,
);

async fn a_chain_runs_one_by_one(server: Server) {
    let place = Place::new(server, &Sketch::of("a; b < a; c < b")).await;
    let played = place.play(Script::default()).await;
    played.assert(RunState::Success, "a success; b success; c success");
    assert_eq!(played.end, End::Finished(RunVerdict::Success));
    let tracked: Vec<&str> = played.tracked.iter().map(String::as_str).collect();
    assert_eq!(
        tracked,
        [
            "started a[-1] queued",
            "ended a[-1] success",
            "started b[-1] queued",
            "ended b[-1] success",
            "started c[-1] queued",
            "ended c[-1] success",
        ]
    );
    assert!(played.run.end_date >= played.run.start_date && played.run.last_scheduling_decision.is_some());
}

async fn a_failure_goes_down_the_chain(server: Server) {
    let place = Place::new(server, &Sketch::of("a; b < a; c < b; d : all_done < c")).await;
    let played = place.play(Script::new([("a", vec![Does::Fails])])).await;
    played.assert(RunState::Success, "a failed; b upstream_failed 0; c upstream_failed 0; d success");
    let place = Place::new(server, &Sketch::of("a; b < a; c")).await;
    let played = place.play(Script::new([("a", vec![Does::Fails])])).await;
    played.assert(RunState::Failed, "a failed; b upstream_failed 0; c success");
    assert_eq!(played.end, End::Finished(RunVerdict::TasksFailed));
}

async fn trigger_rules_hold(server: Server) {
    let words = "good; bad; skipped; one_failed : one_failed < good, bad; one_success : one_success < good, bad;\
        all_failed : all_failed < bad; none_failed : none_failed_min_one_success < good, skipped;\
        none_skipped : none_skipped < good, skipped; all_success < good, skipped; all_done : all_done < bad, skipped;\
        always : always < bad";
    let place = Place::new(server, &Sketch::of(words)).await;
    let script = Script::new([("bad", vec![Does::Fails]), ("skipped", vec![Does::Skips])]);
    let expected = "good success; bad failed; skipped skipped; one_failed success; one_success success;\
        all_failed success; none_failed success; none_skipped skipped 0; all_success skipped 0; all_done success;\
        always success";
    place.play(script).await.assert(RunState::Success, expected);
}

async fn a_branch_skips_what_it_does_not_follow(server: Server) {
    let words = "branch; left < branch; right < branch; after < right; join : none_failed_min_one_success < left, right";
    let sketch = Sketch::of(words).with("branch", "_can_skip_downstream", json!(true));
    let place = Place::new(server, &sketch).await;
    let played = place.play(Script::new([("branch", vec![Does::Follows(vec!["left"])])])).await;
    played.assert(
        RunState::Success,
        "branch success; left success; right skipped 0; after skipped 0; join success",
    );
}

async fn a_task_becomes_as_many_as_are_pushed(server: Server) {
    let sketch = Sketch::of("list; each < list; all < each").mapped_over("each", "list");
    let place = Place::new(server, &sketch).await;
    let script = Script::new([("list", vec![Does::Pushes(4)]), ("each[2]", vec![Does::Fails])]);
    let expected = "list success; each[0] success; each[1] success; each[2] failed; each[3] success;\
        all upstream_failed 0";
    place.play(script).await.assert(RunState::Failed, expected);
}

async fn a_list_in_the_dag_is_mapped_from_the_beginning(server: Server) {
    let sketch = Sketch::of("each; all < each").mapped("each", 2);
    let place = Place::new(server, &sketch).await;
    place
        .play(Script::default())
        .await
        .assert(RunState::Success, "each[0] success; each[1] success; all success");
}

async fn results_of_mapped_tasks_are_mapped_over(server: Server) {
    let sketch = Sketch::of("list; each < list; again < each; end < again")
        .mapped_over("each", "list")
        .mapped_over("again", "each");
    let place = Place::new(server, &sketch).await;
    let script = Script::new([("list", vec![Does::Pushes(2)]), ("each", vec![Does::Pushes(1)])]);
    let expected =
        "list success; each[0] success; each[1] success; again[0] success; again[1] success; end success";
    place.play(script).await.assert(RunState::Success, expected);
}

async fn an_empty_list_skips(server: Server) {
    let sketch = Sketch::of("list; each < list; all < each").mapped_over("each", "list");
    let place = Place::new(server, &sketch).await;
    let played = place.play(Script::new([("list", vec![Does::Pushes(0)])])).await;
    played.assert(RunState::Success, "list success; each skipped 0; all skipped 0");
}

async fn nothing_to_map_over_fails(server: Server) {
    let sketch = Sketch::of("list; each < list").mapped_over("each", "list");
    let place = Place::new(server, &sketch).await;
    place.play(Script::default()).await.assert(RunState::Failed, "list success; each upstream_failed 0");
}

async fn what_does_nothing_succeeds_at_once(server: Server) {
    let sketch = Sketch::of("a; nothing < a; b < nothing").with("nothing", "_is_empty", json!(true));
    let place = Place::new(server, &sketch).await;
    let played = place.play(Script::default()).await;
    played.assert(RunState::Success, "a success; nothing success; b success");
    assert!(played.tracked.contains(&"settled nothing[-1] success".to_owned()), "{:?}", played.tracked);
}

async fn teardowns_run_and_do_not_count(server: Server) {
    let sketch = Sketch::of("up; work < up; down : all_done_setup_success < work, up")
        .with("up", "is_setup", json!(true))
        .with("down", "is_teardown", json!(true));
    let place = Place::new(server, &sketch).await;
    let played = place.play(Script::new([("down", vec![Does::Fails])])).await;
    played.assert(RunState::Success, "up success; work success; down failed");
    let place = Place::new(server, &sketch).await;
    let played = place.play(Script::new([("up", vec![Does::Fails])])).await;
    played.assert(RunState::Failed, "up failed; work upstream_failed 0; down upstream_failed 0");
}

async fn many_tasks_are_made_in_batches(server: Server) {
    let place = Place::new(server, &Sketch::of("first; each < first").mapped("each", 300)).await;
    place.make(&crate::driven::place::new_run("run")).await.unwrap();
    let states = place.states("run").await;
    assert_eq!(states.len(), 301);
    assert!(states.values().all(|state| state == "none 0"));
}
