//! Why a task instance does not run yet.

use std::sync::Arc;

use super::candidate::InstanceKey;

/// Why a task instance is not admitted: the limit, how much of it is used, and how large it is. What was
/// admitted in the same call counts as used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing is known of its DAG.
    #[error("DAG '{dag_id}' is not known")]
    DagUnknown {
        /// The DAG.
        dag_id: Arc<str>,
    },
    /// Its DAG is paused.
    #[error("DAG '{dag_id}' is paused")]
    DagPaused {
        /// The DAG.
        dag_id: Arc<str>,
    },
    /// Its pool does not exist.
    #[error("pool '{pool}' does not exist")]
    PoolMissing {
        /// The pool.
        pool: Arc<str>,
    },
    /// Its pool is another team's.
    #[error("pool '{pool}' belongs to team '{team}', and the DAG to {}", team_in_words(dag_team.as_deref()))]
    PoolOfAnotherTeam {
        /// The pool.
        pool: Arc<str>,
        /// The team of the pool.
        team: Arc<str>,
        /// The team of the DAG.
        dag_team: Option<Arc<str>>,
    },
    /// Its pool has no open slot.
    #[error("pool '{pool}' is full: {in_use} of {slots} slots are in use")]
    PoolFull {
        /// The pool.
        pool: Arc<str>,
        /// How many slots are taken.
        in_use: i64,
        /// How many there are.
        slots: i64,
    },
    /// It needs more slots than its pool has.
    #[error("it needs {wanted} slots, and pool '{pool}' has {slots} in all")]
    LargerThanPool {
        /// The pool.
        pool: Arc<str>,
        /// How many slots it needs.
        wanted: i32,
        /// How many there are.
        slots: i64,
    },
    /// It needs more slots than are open at the moment.
    #[error("it needs {wanted} slots, and {open} of {slots} are open in pool '{pool}'")]
    TooFewSlots {
        /// The pool.
        pool: Arc<str>,
        /// How many slots it needs.
        wanted: i32,
        /// How many are open.
        open: i64,
        /// How many there are.
        slots: i64,
    },
    /// The open slots of its pool are kept for one that has waited long for more of them.
    #[error("the {open} open slots of pool '{pool}' are kept for {holder}, which needs {wanted}")]
    SlotsReserved {
        /// The pool.
        pool: Arc<str>,
        /// How many slots are open.
        open: i64,
        /// Who they are kept for.
        holder: InstanceKey,
        /// How many slots that one needs.
        wanted: i32,
    },
    /// Its run has as many queued and running task instances as its DAG allows.
    #[error(
        "run '{run_id}' of DAG '{dag_id}' has {active} task instances at work, and max_active_tasks is \
         {limit}"
    )]
    RunFull {
        /// The DAG.
        dag_id: Arc<str>,
        /// The run.
        run_id: Arc<str>,
        /// How many are queued or running.
        active: i64,
        /// How many may be.
        limit: i32,
    },
    /// Its task has as many active instances as it allows.
    #[error("task '{dag_id}.{task_id}' has {active} active instances, and max_active_tis_per_dag is {limit}")]
    TaskFull {
        /// The DAG.
        dag_id: Arc<str>,
        /// The task.
        task_id: Arc<str>,
        /// How many are active.
        active: i64,
        /// How many may be.
        limit: i32,
    },
    /// Its task has as many active instances in this run as it allows.
    #[error(
        "task '{dag_id}.{task_id}' has {active} active instances in run '{run_id}', and \
         max_active_tis_per_dagrun is {limit}"
    )]
    TaskFullInRun {
        /// The DAG.
        dag_id: Arc<str>,
        /// The run.
        run_id: Arc<str>,
        /// The task.
        task_id: Arc<str>,
        /// How many are active.
        active: i64,
        /// How many may be.
        limit: i32,
    },
    /// There is no executor of the name that it asks for, or not for its team.
    #[error(
        "there is no executor{} for DAGs of {}",
        name_in_words(executor.as_deref()),
        team_in_words(team.as_deref())
    )]
    ExecutorUnknown {
        /// The executor it asks for.
        executor: Option<Arc<str>>,
        /// The team of its DAG.
        team: Option<Arc<str>>,
    },
    /// Its executor takes no more.
    #[error("executor '{executor}' is full: {occupied} of {slots} slots are in use")]
    ExecutorFull {
        /// The executor.
        executor: Arc<str>,
        /// How much it has.
        occupied: i64,
        /// How much it takes.
        slots: i64,
    },
    /// All executors together take no more.
    #[error("the executors have {occupied} tasks, and [core] parallelism is {limit}")]
    ParallelismReached {
        /// How much they have.
        occupied: i64,
        /// How much they may have.
        limit: i64,
    },
    /// As many were admitted in one call as may be; its turn comes in one of the next.
    #[error("{budget} were admitted at once, which is the most; others were before it")]
    BudgetUsedUp {
        /// How many may be admitted in one call.
        budget: usize,
    },
}

fn team_in_words(team: Option<&str>) -> String {
    team.map_or_else(|| "no team".to_owned(), |team| format!("team '{team}'"))
}

fn name_in_words(executor: Option<&str>) -> String {
    executor.map_or_else(String::new, |name| format!(" '{name}'"))
}
