//! Tasks.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::expand::ExpandInput;
use super::group::GroupIndex;
use super::param::Params;
use super::rule::{TriggerRule, WeightRule};
use crate::Json;
use crate::asset::AssetCondition;

/// A task. Every field has its final value: what the task says, else what the DAG or the installation says,
/// else Airflow's default.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its id, with those of the groups around it.
    pub task_id: Arc<str>,
    /// What it is made from.
    pub operator: Arc<Operator>,
    /// Whose it is.
    pub owner: Arc<str>,
    /// The pool that its instances take slots from.
    pub pool: Arc<str>,
    /// The queue that its instances go to.
    pub queue: Arc<str>,
    /// What a person can set for it; mostly that of the DAG, and then shared.
    pub params: Option<Arc<Params>>,
    /// How its priority comes about.
    pub weight_rule: WeightRule,
    /// Its weight.
    pub priority_weight: i64,
    /// How long to wait before a retry.
    pub retry_delay: SignedDuration,
    /// How long it may run.
    pub execution_timeout: Option<SignedDuration>,
    /// It takes no part in runs before.
    pub start_date: Option<Timestamp>,
    /// It takes no part in runs after.
    pub end_date: Option<Timestamp>,
    /// How often it is tried again.
    pub retries: i32,
    /// How many slots of the pool an instance takes.
    pub pool_slots: i32,
    /// The innermost group around it.
    pub group: GroupIndex,
    /// What must have become of the tasks upstream.
    pub trigger_rule: TriggerRule,
    pub(super) flags: Flags,
    pub(super) details: Option<Box<TaskDetails>>,
}

impl Task {
    /// Whether something about it is so.
    pub fn is(&self, flag: Flag) -> bool {
        self.flags.has(flag)
    }

    /// Whether it is there once for each of several inputs of its own.
    pub fn is_mapped(&self) -> bool {
        self.details().expand.is_some()
    }

    /// How to call it where people read.
    pub fn display_name(&self) -> &str {
        self.details().display_name.as_deref().unwrap_or(&self.task_id)
    }

    /// What few tasks have.
    pub fn details(&self) -> &TaskDetails {
        self.details.as_deref().unwrap_or(&NO_DETAILS)
    }

    pub(super) fn details_mut(&mut self) -> &mut TaskDetails {
        self.details.get_or_insert_with(|| Box::new(TaskDetails::NONE))
    }
}

/// What few tasks have.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskDetails {
    /// What it is mapped over, if it is mapped.
    pub expand: Option<ExpandInput>,
    /// The executor that runs it, if not the default one.
    pub executor: Option<Arc<str>>,
    /// What the executor is told, encoded as the document has it.
    pub executor_config: Option<Json>,
    /// The user it runs as.
    pub run_as_user: Option<Arc<str>>,
    /// What it needs of a machine.
    pub resources: Option<Json>,
    /// How many of its instances may run at once, in all runs.
    pub max_active_tis_per_dag: Option<i32>,
    /// How many of its instances may run at once, in one run.
    pub max_active_tis_per_dagrun: Option<i32>,
    /// By how much the wait grows from retry to retry; 0 is not at all.
    pub retry_exponential_backoff: f64,
    /// The longest wait before a retry.
    pub max_retry_delay: Option<SignedDuration>,
    /// The trigger that it can start from, without a worker.
    pub start_trigger: Option<StartTrigger>,
    /// What it reads.
    pub inlets: Vec<AssetCondition>,
    /// What it updates.
    pub outlets: Vec<AssetCondition>,
    /// Who gets a mail about it.
    pub email: Vec<Arc<str>>,
    /// How to call it where people read, if not by its id.
    pub display_name: Option<Arc<str>>,
    /// How to call one of its mapped instances.
    pub map_index_template: Option<Arc<str>>,
    /// Documentation, as Markdown.
    pub doc_md: Option<Arc<str>>,
    /// Whether templates give objects instead of text; `None` leaves that to the DAG.
    pub render_template_as_native_obj: Option<bool>,
}

impl TaskDetails {
    const NONE: Self = Self {
        expand: None,
        executor: None,
        executor_config: None,
        run_as_user: None,
        resources: None,
        max_active_tis_per_dag: None,
        max_active_tis_per_dagrun: None,
        retry_exponential_backoff: 0.0,
        max_retry_delay: None,
        start_trigger: None,
        inlets: Vec::new(),
        outlets: Vec::new(),
        email: Vec::new(),
        display_name: None,
        map_index_template: None,
        doc_md: None,
        render_template_as_native_obj: None,
    };
}

static NO_DETAILS: TaskDetails = TaskDetails::NONE;

/// What tasks are made from. Tasks of one kind share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// The name of its class.
    pub task_type: Arc<str>,
    /// The module of its class.
    pub module: Arc<str>,
    /// How to call it where people read: `@task`, or the name of its class.
    pub name: Arc<str>,
    /// Its colour.
    pub ui_color: Arc<str>,
    /// The colour of its text.
    pub ui_fgcolor: Arc<str>,
    /// The names of the fields that are templates.
    pub template_fields: Box<[Arc<str>]>,
    /// Links that its instances offer: the name, and the key of the XCom with the address.
    pub extra_links: Box<[(Arc<str>, Arc<str>)]>,
}

/// A trigger that a task starts from, without a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartTrigger {
    /// The import path of the trigger.
    pub trigger_class: Box<str>,
    /// Its arguments, encoded as the document has them.
    pub trigger_kwargs: Option<Json>,
    /// The method of the operator to go on with.
    pub next_method: Box<str>,
    /// The arguments of that method, encoded as the document has them.
    pub next_kwargs: Option<Json>,
    /// How long to wait for the trigger.
    pub timeout: Option<SignedDuration>,
}

macro_rules! flags {
    ($($(#[$doc:meta])* $flag:ident = $key:literal,)*) => {
        /// Something about a task that is so or not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Flag { $($(#[$doc])* $flag,)* }

        impl Flag {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$flag),*];

            /// As documents spell it.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$flag => $key,)* }
            }

            pub(super) fn of_key(key: &str) -> Option<Self> {
                match key {
                    $($key => Some(Self::$flag),)*
                    _ => None,
                }
            }
        }
    };
}

flags! {
    /// It waits for its own instance of the run before.
    DependsOnPast = "depends_on_past",
    /// It does not do so in its first run.
    IgnoreFirstDependsOnPast = "ignore_first_depends_on_past",
    /// It waits for the run before even where it would be skipped.
    WaitForPastDependsBeforeSkipping = "wait_for_past_depends_before_skipping",
    /// It waits for what is downstream of its instance of the run before.
    WaitForDownstream = "wait_for_downstream",
    /// Its result is pushed.
    DoXcomPush = "do_xcom_push",
    /// Each entry of its result is pushed too.
    MultipleOutputs = "multiple_outputs",
    /// Its operators may run operators.
    AllowNestedOperators = "allow_nested_operators",
    /// A mail is sent when it fails.
    EmailOnFailure = "email_on_failure",
    /// A mail is sent when it is tried again.
    EmailOnRetry = "email_on_retry",
    /// It prepares something for others.
    IsSetup = "is_setup",
    /// It cleans up what a setup prepared.
    IsTeardown = "is_teardown",
    /// Being a teardown, its failure fails the run all the same.
    OnFailureFailDagrun = "on_failure_fail_dagrun",
    /// It starts from its trigger.
    StartFromTrigger = "start_from_trigger",
    /// It wants to be told when it starts.
    HasOnExecuteCallback = "has_on_execute_callback",
    /// It wants to be told when it failed.
    HasOnFailureCallback = "has_on_failure_callback",
    /// It wants to be told when it is tried again.
    HasOnRetryCallback = "has_on_retry_callback",
    /// It wants to be told when it was skipped.
    HasOnSkippedCallback = "has_on_skipped_callback",
    /// It wants to be told when it succeeded.
    HasOnSuccessCallback = "has_on_success_callback",
    /// It decides itself whether it is tried again.
    HasRetryPolicy = "has_retry_policy",
    /// It does nothing, and needs no worker for that.
    IsEmpty = "_is_empty",
    /// It can skip what is downstream.
    CanSkipDownstream = "_can_skip_downstream",
    /// It waits for something, and may ask to be looked at again later.
    IsSensor = "_is_sensor",
    /// Being a sensor, it does ask so, and takes no slot meanwhile.
    Reschedules = "reschedule",
}

/// The flags of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags(u32);

impl Flags {
    /// Those of a task that says nothing.
    pub(super) fn of_a_plain_task() -> Self {
        let mut flags = Self(0);
        for flag in [Flag::DoXcomPush, Flag::AllowNestedOperators, Flag::EmailOnFailure, Flag::EmailOnRetry] {
            flags.set(flag, true);
        }
        flags
    }

    pub(super) fn set(&mut self, flag: Flag, value: bool) {
        let bit = 1 << flag as u32;
        self.0 = if value { self.0 | bit } else { self.0 & !bit };
    }

    fn has(self, flag: Flag) -> bool {
        self.0 & (1 << flag as u32) != 0
    }
}
