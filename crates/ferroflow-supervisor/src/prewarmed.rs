//! Processes that wait for their task.
//!
//! While one task begins, a process for the next is forked from the same place, and comes as far as it can without
//! knowing what to run. The next task finds it there. Where no next one comes, it does not stay.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_python::{Child, Error, Sink, Stream};
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// So long one waits for its task. Where tasks come further apart than this, none is made.
const KEPT: Duration = Duration::from_secs(2);

/// The spare process of one place that tasks are forked from: none or one.
#[derive(Clone)]
pub(crate) struct Prewarmed {
    place: Arc<Mutex<Place>>,
    closed: CancellationToken,
}

#[derive(Default)]
struct Place {
    /// Whoever looks after it. Once it is not there to be taken any more, nobody listens.
    keeper: Option<oneshot::Sender<Claim>>,
    last_task: Option<Stopwatch>,
}

/// Who wants it, and for the log of which task.
struct Claim {
    sink: Arc<dyn Sink>,
    taker: oneshot::Sender<Child>,
}

impl Prewarmed {
    /// A place without one. When `closed` is cancelled, it ends, and there are no more.
    pub(crate) fn new(closed: CancellationToken) -> Self {
        Self { place: Arc::default(), closed }
    }

    /// The one that is here, or is being forked. All that it prints goes to `sink`.
    pub(crate) async fn take(&self, sink: &Arc<dyn Sink>) -> Option<Child> {
        let keeper = self.lock().keeper.take()?;
        let (taker, child) = oneshot::channel();
        keeper.send(Claim { sink: Arc::clone(sink), taker }).ok()?;
        child.await.ok()
    }

    /// To be called when a task has begun: has one forked for the next, if there is none and tasks come one after the
    /// other.
    pub(crate) fn replace<F>(&self, fork: impl FnOnce(Arc<dyn Sink>) -> F)
    where
        F: Future<Output = Result<Child, Error>> + Send + 'static,
    {
        let mut place = self.lock();
        let last = place.last_task.replace(Stopwatch::start());
        let is_wanted = last.is_some_and(|last| last.elapsed() < KEPT) && !self.closed.is_cancelled();
        if !is_wanted || place.keeper.as_ref().is_some_and(|keeper| !keeper.is_closed()) {
            return;
        }
        let (keeper, claimed) = oneshot::channel();
        place.keeper = Some(keeper);
        drop(place);
        let lines = Arc::new(Lines::default());
        let forking = fork(Arc::clone(&lines) as Arc<dyn Sink>);
        tokio::spawn(keep(forking, lines, claimed, self.closed.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks after one until it is taken. It ends if nobody takes it for a while, or can any more.
async fn keep(
    forking: impl Future<Output = Result<Child, Error>>,
    lines: Arc<Lines>,
    claimed: oneshot::Receiver<Claim>,
    closed: CancellationToken,
) {
    let mut child = match forking.await {
        Ok(child) => child,
        // The next task hears of it when it is forked.
        Err(error) => return tracing::debug!("no process for the next task: {}", chain(&error)),
    };
    let claim = tokio::select! {
        claim = claimed => claim.ok(),
        _ = child.wait() => None,
        () = closed.cancelled() => None,
        () = tokio::time::sleep(KEPT) => None,
    };
    if let Some(Claim { sink, taker }) = claim
        && !child.has_hung_up()
    {
        lines.hand_to(sink);
        // Whoever wanted it may have been told to end.
        drop(taker.send(child));
    }
}

/// Keeps what a process prints until it is known whose log that is for.
#[derive(Default)]
struct Lines(Mutex<Printed>);

#[derive(Default)]
struct Printed {
    kept: Vec<(Stream, String)>,
    sink: Option<Arc<dyn Sink>>,
}

impl Lines {
    fn hand_to(&self, sink: Arc<dyn Sink>) {
        let mut printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (stream, line) in printed.kept.drain(..) {
            sink.line(stream, &line);
        }
        printed.sink = Some(sink);
    }
}

impl Sink for Lines {
    fn line(&self, stream: Stream, line: &str) {
        let mut printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &printed.sink {
            Some(sink) => sink.line(stream, line),
            None => printed.kept.push((stream, line.to_owned())),
        }
    }

    fn cut(&self, line: &str) -> usize {
        let printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        printed.sink.as_ref().map_or(0, |sink| sink.cut(line))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ferroflow_python::frame::{self, Frame};
    use ferroflow_python::{ChildLimits, Entry, ForkServer, ForkServerOptions};
    use ferroflow_testkit::given;
    use rmpv::Value;
    use rustix::process::{Pid, Signal, kill_process, test_kill_process};
    use tempfile::TempDir;
    use tokio::sync::watch;

    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<(Stream, String)>>);

    impl Sink for Heard {
        fn line(&self, stream: Stream, line: &str) {
            self.0.lock().unwrap().push((stream, line.to_owned()));
        }

        fn cut(&self, line: &str) -> usize {
            line.len() - 1
        }
    }

    #[test]
    fn a_long_line_is_cut_where_whoever_is_given_it_says() {
        let lines = Lines::default();
        assert_eq!(lines.cut("nobody's"), 0);
        lines.hand_to(nobody());
        assert_eq!(lines.cut("somebody's"), 9);
    }

    fn nobody() -> Arc<dyn Sink> {
        Arc::new(Heard::default())
    }

    /// A place that forks from a fork server of its own, and tells which process was forked last.
    struct Stage {
        python: ForkServer,
        spare: Prewarmed,
        forked: watch::Sender<Option<Pid>>,
        _home: TempDir,
    }

    impl Stage {
        async fn new() -> Self {
            let home = TempDir::new().unwrap();
            let mut options = ForkServerOptions::new(Path::new(&given("VENV")).join("bin/python"));
            options.boot_timeout = Duration::from_mins(5);
            options.environment = vec![("AIRFLOW_HOME".into(), home.path().into())];
            let python = ForkServer::start(options).await.unwrap();
            let spare = Prewarmed::new(CancellationToken::new());
            Self { python, spare, forked: watch::Sender::new(None), _home: home }
        }

        fn task_begins(&self) {
            let (python, forked) = (self.python.clone(), self.forked.clone());
            self.spare.replace(|sink| async move {
                let child = python.fork(Entry::Task, ChildLimits::default(), &sink).await?;
                forked.send_replace(Pid::from_raw(child.pid()));
                Ok(child)
            });
        }

        /// Two tasks begin, one right after the other.
        async fn with_a_spare(&self) -> Pid {
            self.task_begins();
            self.task_begins();
            self.forked.subscribe().wait_for(Option::is_some).await.unwrap().unwrap()
        }
    }

    async fn until_gone(pid: Pid) {
        while test_kill_process(pid).is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    #[test]
    fn what_was_printed_before_the_log_was_known_comes_first_and_in_order() {
        let (lines, heard) = (Lines::default(), Arc::new(Heard::default()));
        lines.line(Stream::Stderr, "a");
        lines.line(Stream::Log, "b");
        lines.hand_to(Arc::clone(&heard) as Arc<dyn Sink>);
        lines.line(Stream::Stdout, "c");
        let expected = [(Stream::Stderr, "a"), (Stream::Log, "b"), (Stream::Stdout, "c")];
        assert_eq!(*heard.0.lock().unwrap(), expected.map(|(stream, line)| (stream, line.to_owned())));
    }

    #[tokio::test]
    async fn one_is_there_for_the_next_of_several_tasks_and_taken_once() {
        let stage = Stage::new().await;
        stage.task_begins();
        assert!(stage.spare.take(&nobody()).await.is_none(), "a task alone has nobody wait for another");
        // One that is still being forked is waited for.
        stage.task_begins();
        let heard = Arc::new(Heard::default());
        let sink = Arc::clone(&heard) as Arc<dyn Sink>;
        let mut child = stage.spare.take(&sink).await.unwrap();
        assert_eq!(Pid::from_raw(child.pid()), *stage.forked.borrow());
        assert!(stage.spare.take(&sink).await.is_none(), "it was taken");

        // It is a process like any other: it does what it is told, and its log is the taker's.
        let mut channel = child.take_channel().unwrap();
        let nonsense = Frame { id: 0, body: Value::Map(vec![]), third: Value::Nil };
        frame::write(&mut channel, nonsense).await.unwrap();
        let exit = child.wait().await.unwrap();
        assert_eq!(exit.status.code(), Some(1));
        assert!(!exit.usage.user.is_zero() || !exit.usage.system.is_zero(), "{exit:?}");
        let heard = heard.0.lock().unwrap();
        assert!(heard.iter().any(|(_, line)| line.contains("Unable to decode message")), "{heard:?}");
    }

    #[tokio::test]
    async fn one_that_nobody_takes_ends() {
        let stage = Stage::new().await;
        let pid = stage.with_a_spare().await;
        stage.task_begins();
        assert_eq!(*stage.forked.borrow(), Some(pid), "there is at most one");
        until_gone(pid).await;
        assert!(stage.spare.take(&nobody()).await.is_none());
    }

    #[tokio::test]
    async fn one_that_has_died_is_not_taken_and_is_replaced() {
        let stage = Stage::new().await;
        let pid = stage.with_a_spare().await;
        kill_process(pid, Signal::KILL).unwrap();
        until_gone(pid).await;
        assert!(stage.spare.take(&nobody()).await.is_none());
        stage.task_begins();
        let child = stage.spare.take(&nobody()).await.unwrap();
        assert_ne!(Pid::from_raw(child.pid()), Some(pid));
    }

    #[tokio::test]
    async fn none_is_left_when_all_is_closed() {
        let stage = Stage::new().await;
        let pid = stage.with_a_spare().await;
        stage.spare.closed.cancel();
        until_gone(pid).await;
        stage.task_begins();
        assert!(stage.spare.take(&nobody()).await.is_none());
        assert_eq!(*stage.forked.borrow(), Some(pid));
    }

    #[tokio::test]
    async fn none_is_left_when_its_place_is_gone() {
        let stage = Stage::new().await;
        let pid = stage.with_a_spare().await;
        let Stage { python, spare, _home: _, .. } = stage;
        drop(spare);
        until_gone(pid).await;
        assert!(python.fork(Entry::Task, ChildLimits::default(), &nobody()).await.is_ok());
    }
}
