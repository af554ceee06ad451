//! DAG files that are kept imported, so that tasks do not have to.
//!
//! Off unless `[ferroflow] task_templates` says how many: what a file does when it is imported is then done once for
//! many tasks, which a file that asks for the time, say, can notice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ferroflow_config::Settings;
use ferroflow_python::{
    Child, ChildLimits, Entry, Error, ForkServer, Sink, Stream, Zygote, ZygoteFile, ZygoteLimits,
};
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::ExecuteTask;
use crate::prewarmed::Prewarmed;

/// How long an import may take where the configuration sets no limit.
const WITHOUT_LIMIT: Duration = Duration::from_hours(1);

/// So often a fork server may die just when a task is to be forked. None of the task has run yet.
const ATTEMPTS: usize = 3;

/// After so long a file that was not fit to be kept may have become so.
const SECOND_LOOK: Duration = Duration::from_mins(1);

/// Where the processes of tasks are forked from.
pub(crate) struct Zygotes {
    most: usize,
    limits: ZygoteLimits,
    kept: Mutex<Kept>,
    /// Of the fork server.
    spare: Prewarmed,
    closed: CancellationToken,
}

/// Where the process of a task was forked from, and that of the next may be.
#[derive(Clone)]
pub(crate) struct Origin {
    source: Source,
    spare: Prewarmed,
}

#[derive(Clone)]
enum Source {
    ForkServer(ForkServer),
    Zygote(Zygote),
}

impl Origin {
    /// To be called when a task from here knows what to run.
    pub(crate) fn begun(&self) {
        let source = self.source.clone();
        self.spare.replace(|sink| async move { source.fork(&sink).await });
    }

    async fn fork(&self, sink: &Arc<dyn Sink>) -> Result<Child, Error> {
        match self.spare.take(sink).await {
            Some(child) => Ok(child),
            None => self.source.fork(sink).await,
        }
    }
}

impl Source {
    async fn fork(&self, sink: &Arc<dyn Sink>) -> Result<Child, Error> {
        match self {
            Self::ForkServer(python) => python.fork(Entry::Task, ChildLimits::default(), sink).await,
            Self::Zygote(zygote) => zygote.fork_task(sink).await,
        }
    }
}

#[derive(Default)]
struct Kept {
    files: HashMap<ZygoteFile, Entrance>,
    uses: u64,
}

/// A file, and when it was last used.
struct Entrance {
    /// Nothing, if the file is not fit to be kept.
    zygote: Arc<OnceCell<Option<(Zygote, Prewarmed)>>>,
    age: Stopwatch,
    last_use: u64,
}

impl Entrance {
    fn is_good(&self) -> bool {
        match self.zygote.get() {
            // It is being made.
            None => true,
            Some(Some((zygote, _))) => zygote.is_current(),
            Some(None) => self.age.elapsed() < SECOND_LOOK,
        }
    }
}

impl Zygotes {
    /// As the configuration says.
    pub(crate) fn of(settings: &Settings) -> Self {
        let closed = CancellationToken::new();
        Self {
            most: usize::try_from(settings.ferroflow.task_templates).unwrap_or(usize::MAX),
            limits: ZygoteLimits {
                import: settings.core.dagbag_import_timeout.unwrap_or(WITHOUT_LIMIT),
                tasks_per_process: settings.ferroflow.tasks_per_process,
            },
            kept: Mutex::default(),
            spare: Prewarmed::new(closed.clone()),
            closed,
        }
    }

    /// No process waits for a task from now on.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    /// Waits until that was called.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Forks the process of a task, from where its file is imported already if that may be.
    pub(crate) async fn fork(
        &self,
        python: &ForkServer,
        workload: &ExecuteTask,
        sink: &Arc<dyn Sink>,
    ) -> Result<(Child, Origin), Error> {
        for _ in 1..ATTEMPTS {
            match self.try_to_fork(python, workload, sink).await {
                Err(Error::Lost) => {
                    tracing::warn!("Python's fork server died while a task was forked; once more");
                }
                forked => return forked,
            }
        }
        self.try_to_fork(python, workload, sink).await
    }

    async fn try_to_fork(
        &self,
        python: &ForkServer,
        workload: &ExecuteTask,
        sink: &Arc<dyn Sink>,
    ) -> Result<(Child, Origin), Error> {
        if self.most > 0
            && let Some((zygote, spare)) = self.zygote(python, workload).await
        {
            let origin = Origin { source: Source::Zygote(zygote), spare };
            match origin.fork(sink).await {
                Ok(child) => return Ok((child, origin)),
                Err(error) => tracing::warn!("a task is not forked from its template: {}", chain(&error)),
            }
        }
        let origin = Origin { source: Source::ForkServer(python.clone()), spare: self.spare.clone() };
        Ok((origin.fork(sink).await?, origin))
    }

    async fn zygote(&self, python: &ForkServer, workload: &ExecuteTask) -> Option<(Zygote, Prewarmed)> {
        let file = ZygoteFile {
            bundle: workload.bundle_info.name.clone(),
            version: workload.bundle_info.version.clone(),
            path: workload.dag_rel_path.clone(),
        };
        let cell = self.entrance(&file);
        cell.get_or_init(|| self.make(python, &file)).await.clone()
    }

    async fn make(&self, python: &ForkServer, file: &ZygoteFile) -> Option<(Zygote, Prewarmed)> {
        let sink: Arc<dyn Sink> = Arc::new(ImportLog(file.path.clone()));
        match python.zygote(file, self.limits, &sink).await {
            Ok(zygote) => Some((zygote, Prewarmed::new(self.closed.clone()))),
            Err(error) => {
                tracing::info!(file = file.path, "tasks import their file themselves: {}", chain(&error));
                None
            }
        }
    }

    /// The place of a file, which may be new. What was used least recently makes room.
    fn entrance(&self, file: &ZygoteFile) -> Arc<OnceCell<Option<(Zygote, Prewarmed)>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.uses += 1;
        let now = kept.uses;
        if let Some(entrance) = kept.files.get_mut(file)
            && entrance.is_good()
        {
            entrance.last_use = now;
            return Arc::clone(&entrance.zygote);
        }
        kept.files.remove(file);
        while kept.files.len() >= self.most {
            let oldest = kept.files.iter().min_by_key(|(_, entrance)| entrance.last_use);
            let Some(oldest) = oldest.map(|(file, _)| file.clone()) else { break };
            kept.files.remove(&oldest);
        }
        let zygote = Arc::new(OnceCell::new());
        let entrance = Entrance { zygote: Arc::clone(&zygote), age: Stopwatch::start(), last_use: now };
        kept.files.insert(file.clone(), entrance);
        zygote
    }
}

/// What a file prints when it is imported for many tasks belongs to none of them.
struct ImportLog(String);

impl Sink for ImportLog {
    fn line(&self, _: Stream, line: &str) {
        tracing::info!(file = self.0, "{line}");
    }
}
