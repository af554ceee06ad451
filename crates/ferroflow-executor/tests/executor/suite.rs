//! What is asked of executors.

use std::time::Duration;

use ferroflow_executor::{
    Adopted, Bundle, EventKind, ExecuteCallback, ExecuteTask, Executor, ExecutorEvent, ExecutorEvents,
    Orphan, TaskTry, Workload, WorkloadKey, WorkloadKind,
};
use ferroflow_model::Json;
use ferroflow_model::state::TaskState;
use serde_json::json;
use uuid::Uuid;

/// For so long an event may take.
const PATIENCE: Duration = Duration::from_mins(3);

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Succeed,
    /// Runs until it is told to end.
    Sleep,
    /// Its row is not queued.
    NotStart,
}

/// An executor with two slots, and how its workloads come about.
pub(crate) trait Subject {
    fn executor(&self) -> &dyn Executor;

    fn events(&mut self) -> &mut ExecutorEvents;

    /// A task instance that is to be run.
    async fn task(&mut self, does: Does) -> ExecuteTask;

    /// Changes the row of one that runs, so that it should not.
    async fn clear(&mut self, task: &TaskTry);

    /// All that a scheduler relies on.
    async fn conforms(mut self)
    where
        Self: Sized,
    {
        self.tells_the_state_and_then_the_end().await;
        self.tells_of_what_cannot_be_started().await;
        self.has_room_for_callbacks_before_tasks().await;
        self.adopts_nothing_that_it_does_not_have().await;
        self.ends_what_runs_when_it_is_shut_down().await;
    }

    async fn tells_the_state_and_then_the_end(&mut self) {
        let task = self.submit(Does::Succeed).await;
        assert_eq!(self.executor().slots().tasks, 1, "from when it was submitted");
        assert_eq!(self.next().await, (task.clone(), EventKind::StateSet(TaskState::Success)));
        assert_eq!(self.next().await, (task, EventKind::Ended));
        assert_eq!(self.executor().slots().occupied(), 0, "its slot is free when its end is told");
    }

    async fn tells_of_what_cannot_be_started(&mut self) {
        let task = self.submit(Does::NotStart).await;
        let (told, kind) = self.next().await;
        assert!(told == task && matches!(kind, EventKind::NotStarted(_)), "{told:?} {kind:?}");
        assert_eq!(self.executor().slots().occupied(), 0);
    }

    /// Two tasks have the slots: a callback waits for the first that ends, and no other task is taken meanwhile.
    async fn has_room_for_callbacks_before_tasks(&mut self) {
        let (one, other) = (self.submit(Does::Sleep).await, self.submit(Does::Sleep).await);
        let free = |this: &Self, kind| this.executor().slots().free_for(kind);
        assert_eq!(free(self, WorkloadKind::ExecuteTask), 0);
        let callback = Uuid::from_u128(7);
        let runs_callbacks = self.executor().supports(WorkloadKind::ExecuteCallback);
        if runs_callbacks {
            assert_eq!(free(self, WorkloadKind::ExecuteCallback), 2);
            self.executor().submit(vec![Workload::ExecuteCallback(a_callback(callback))]);
            assert_eq!(free(self, WorkloadKind::ExecuteCallback), 1);
            assert!(self.executor().is_alive(callback));
        }
        self.executor().terminate(Uuid::from_u128(8));
        for task in [one, other] {
            self.is_ended(&task, runs_callbacks.then_some(callback)).await;
        }
        assert_eq!(self.executor().slots().occupied(), 0);
        assert!(!self.executor().is_alive(callback));
    }

    /// Ends a task that should not run any more. A callback may end, too, at any time.
    async fn is_ended(&mut self, task: &WorkloadKey, callback: Option<Uuid>) {
        let WorkloadKey::Task(task_try) = task else { panic!("{task:?} is no task") };
        self.clear(task_try).await;
        self.executor().terminate(task_try.id);
        loop {
            let (workload, kind) = self.next().await;
            if workload == *task {
                return assert_eq!(kind, EventKind::Ended, "its state is no news");
            }
            assert_eq!((workload.id(), kind), (callback.unwrap_or_default(), EventKind::Ended));
        }
    }

    async fn adopts_nothing_that_it_does_not_have(&mut self) {
        let orphans: Vec<Orphan> =
            [WorkloadKey::Callback(Uuid::from_u128(9)), WorkloadKey::ConnectionTest(Uuid::nil())]
                .map(|workload| Orphan {
                    workload,
                    has_begun: true,
                    hostname: Some("another host".to_owned()),
                    pid: Some(1),
                    last_seen: None,
                    external_executor_id: None,
                })
                .into();
        let adopted = self.executor().adopt(&orphans).await;
        assert_eq!(adopted, [Adopted::NotFound, Adopted::NotFound], "one answer for each");
        assert_eq!(self.executor().slots().occupied(), 0);
    }

    async fn ends_what_runs_when_it_is_shut_down(&mut self) {
        let task = self.submit(Does::Sleep).await;
        self.executor().shut_down().await;
        assert_eq!(self.executor().slots().occupied(), 0);
        let mut told = Vec::new();
        while let Some(ExecutorEvent { workload, kind, .. }) = self.events().try_next() {
            assert_eq!(workload, task);
            told.push(kind);
        }
        // One that had not begun yet was not started.
        assert!(matches!(told.last(), Some(EventKind::Ended | EventKind::NotStarted(_))), "{told:?}");
    }

    async fn submit(&mut self, does: Does) -> WorkloadKey {
        let workload = Workload::ExecuteTask(self.task(does).await);
        let key = workload.key();
        self.executor().submit(vec![workload]);
        key
    }

    /// What is told next, by the executor that it names.
    async fn next(&mut self) -> (WorkloadKey, EventKind) {
        let next = tokio::time::timeout(PATIENCE, self.events().next());
        let ExecutorEvent { executor, workload, kind } = next.await.expect("it tells something");
        assert_eq!(executor.alias.as_deref(), Some("LocalExecutor"));
        (workload, kind)
    }
}

fn a_callback(id: Uuid) -> ExecuteCallback {
    ExecuteCallback {
        id,
        data: Json::from(json!({"path": "a.module.call", "kwargs": {}})),
        dag_rel_path: "dag.py".to_owned(),
        bundle_info: Bundle { name: "dags-folder".to_owned(), version: None },
        log_path: "callback.log".to_owned(),
        job_id: 1,
    }
}
