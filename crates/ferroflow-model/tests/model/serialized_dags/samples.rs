//! Documents as Airflow 3.3.2 wrote them. What every field of theirs means is compared with Airflow itself in
//! `ferroflow-testkit`; here are the parts that are easy to get wrong.

use ferroflow_model::asset::AssetCondition;
use ferroflow_model::dag::{
    Dag, Deadline, ExpandArgument, ExpandInput, Flag, Task, TaskIndex, TriggerRule, WeightRule, XComArg,
};
use jiff::SignedDuration;

use crate::serialized_dags::sample;

fn dag(name: &str) -> Dag {
    Dag::decode(&sample(name)).unwrap()
}

fn task<'d>(dag: &'d Dag, task_id: &str) -> &'d Task {
    &dag[dag.find(task_id).unwrap()]
}

#[test]
fn a_document_from_the_database() {
    let dag = dag("db-prod");
    assert_eq!((&*dag.dag_id, &*dag.display_name), ("prod", "Prod!"));
    assert_eq!(dag.dagrun_timeout, Some(SignedDuration::from_hours(2)));
    assert!(matches!(dag.deadlines.as_slice(), [Deadline::Stored(_)]));
    assert!(dag.has_on_success_callback && !dag.has_on_failure_callback);
    assert_eq!(dag.params[0].schema.text(), r#"{"minimum": 0, "type": "integer"}"#);

    let first = task(&dag, "a");
    assert!(first.is(Flag::IsEmpty) && first.is(Flag::HasOnFailureCallback));
    assert_eq!(first.details().outlets.len(), 3);
    assert!(matches!(&first.details().outlets[2], AssetCondition::Alias(alias) if alias.name == "al"));
    assert_eq!(
        task(&dag, "c").details().executor_config.as_ref().unwrap().text(),
        r#"{"__type": "dict", "__var": {"a": {"__type": "tuple", "__var": [1, 2]}, "s": {"__type": "set", "__var": [1, 3]}}}"#
    );
    let groups = dag.groups();
    assert_eq!((groups.len(), groups[0].children.len()), (1, 3));
}

#[test]
fn settings_of_a_mapped_task_are_among_its_arguments() {
    let dag = dag("db-prod");
    let mapped = task(&dag, "b");
    assert!(mapped.is_mapped());
    assert_eq!((&*mapped.owner, mapped.retries), ("carol", 2));
    assert_eq!(mapped.retry_delay, SignedDuration::from_mins(5));
    assert_eq!(mapped.details().max_active_tis_per_dag, Some(2));
    let expand = mapped.details().expand.as_ref().unwrap();
    assert_eq!(expand.length(|_| None), Some(2));
}

#[test]
fn parameters_of_the_dag_are_shared_by_its_tasks() {
    let dag = dag("db-prod");
    let params = |task_id| task(&dag, task_id).params.clone().unwrap();
    assert!(std::sync::Arc::ptr_eq(&params("a"), &params("b")));
}

#[test]
fn what_a_mapped_task_depends_on() {
    let dag = dag("example_task_mapping_second_order");
    let [first, second, third] = ["get_nums", "times_2", "add_10"].map(|task_id| dag.find(task_id).unwrap());
    let expand = |task: TaskIndex| dag[task].details().expand.as_ref();
    assert!(expand(first).is_none() && !dag.needs_expansion(first));
    assert_eq!(expand(second).unwrap().dependencies(), [first]);
    assert_eq!(expand(third).unwrap().dependencies(), [second]);
    assert_eq!(expand(third).unwrap().length(|task| (task == second).then_some(7)), Some(7));
    let ExpandInput::DictOfLists(arguments) = expand(second).unwrap() else { panic!("expand()") };
    let key = |argument: &ExpandArgument| match argument {
        ExpandArgument::XCom(XComArg::Plain { key, .. }) => Some(key.to_string()),
        _ => None,
    };
    assert_eq!(key(&arguments[0].1), Some("return_value".to_owned()));
}

#[test]
fn tasks_in_a_mapped_group_are_expanded_with_it() {
    let dag = dag("example_task_group_mapping");
    let group = &dag.groups()[1];
    assert_eq!(group.group_id.as_deref(), Some("op"));
    assert_eq!(group.expand.as_ref().unwrap().length(|_| None), Some(3));
    let task = dag.find("op.add_1").unwrap();
    assert!(!dag[task].is_mapped() && dag.needs_expansion(task));
    assert_eq!(dag.mapped_groups_of(task).count(), 1);
    assert_eq!(dag.graph().downstream(task), [dag.find("op.mul_2").unwrap()]);
}

#[test]
fn setups_and_teardowns() {
    let dag = dag("example_setup_teardown_taskflow");
    let count = |flag| dag.tasks().iter().filter(|task| task.is(flag)).count();
    assert_eq!((count(Flag::IsSetup), count(Flag::IsTeardown)), (3, 3));
    let teardowns = dag.tasks().iter().filter(|task| task.is(Flag::IsTeardown));
    assert!(teardowns.into_iter().all(|task| task.trigger_rule == TriggerRule::AllDoneSetupSuccess));
}

#[test]
fn an_old_document_is_read_as_a_new_one() {
    let dag = dag("format1");
    assert_eq!(&*dag.dag_id, "format1");
    let sensor = task(&dag, "sense");
    assert!(sensor.is(Flag::IsSensor) && sensor.is(Flag::HasOnFailureCallback));
    assert_eq!(sensor.weight_rule, WeightRule::Absolute);
    assert!((sensor.details().retry_exponential_backoff - 2.0).abs() < f64::EPSILON);
    assert!(sensor.operator.extra_links.is_empty());
    let AssetCondition::Asset(inlet) = &sensor.details().inlets[0] else { panic!("an asset") };
    assert_eq!((inlet.name.as_str(), inlet.group.as_str()), ("s3://b/in", "asset"));
    let ends: Vec<(&str, &str)> =
        dag.dependencies.iter().map(|dependency| (&*dependency.source, &*dependency.target)).collect();
    let expected = [
        ("asset", "format1"),
        ("format1", "asset-alias"),
        ("asset:s3://b/x", "format1"),
        ("format1", "other"),
    ];
    assert_eq!(ends, expected);
    assert_eq!(&*dag.dependencies[1].dependency_type, "asset-alias");
    assert_eq!(&*dag.dependencies[0].label, "s3://b/dataset");
    assert_eq!(dag.default_args.unwrap().text(), r#"{"__type": "dict", "__var": {"owner": "old"}}"#);
}

/// Order within the document does not matter; with every duplicate of a text there is one copy.
#[test]
fn texts_that_repeat_are_there_once() {
    let dag = dag("example_task_group");
    let [first, .., last] = dag.tasks() else { panic!("several tasks") };
    assert!(std::sync::Arc::ptr_eq(&first.pool, &last.pool));
    assert!(std::sync::Arc::ptr_eq(&first.operator.module, &last.operator.module));
}
