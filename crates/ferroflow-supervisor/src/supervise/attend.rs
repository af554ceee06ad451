//! The loop around a task's process.

use std::os::unix::process::ExitStatusExt as _;
use std::pin::Pin;
use std::time::Duration;

use ferroflow_model::supervision::{EndOrder, Ending, Exit};
use ferroflow_python::{Child, Error, Exit as ChildExit};
use rmpv::Value;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep, timeout};

use super::conversation::{Conversation, Progress};
use super::exit_log;

/// How long a process may take to end before it is killed, as in Airflow.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// The same once its operator has done what it does then: the task itself may want to clean up.
const AFTER_ON_KILL: Duration = Duration::from_secs(1);

/// How long what a dead child left in the socket may take to be read.
const LAST_FRAMES: Duration = Duration::from_secs(2);

/// Serves a child until it has ended, and all that it said was acted on.
pub(super) async fn attend(
    child: &mut Child,
    conversation: &Conversation<'_>,
    startup: Value,
    orders: watch::Receiver<Option<EndOrder>>,
    overtime: Duration,
) -> Ending {
    let Some(channel) = child.take_channel() else {
        return Ending { exit: Exit::WithForkServer, reported: None, ordered: None };
    };
    let mut talk = Talk { future: Box::pin(conversation.talk(channel, startup)), is_over: false };
    let (exit, ordered) = until_exit(child, conversation, &mut talk, orders, overtime).await;
    if let Some(remains) = child.remains() {
        conversation.cannot_be_killed(remains);
    }
    finish(conversation, &mut talk).await;
    Ending { exit: how(&exit), reported: conversation.reported(), ordered }
}

async fn until_exit(
    child: &mut Child,
    conversation: &Conversation<'_>,
    talk: &mut Talk<impl Future<Output = ()>>,
    mut orders: watch::Receiver<Option<EndOrder>>,
    overtime: Duration,
) -> (Result<ChildExit, Error>, Option<EndOrder>) {
    let mut ordered = None;
    let (mut grace, mut patience): (Timer, Timer) = (None, None);
    let mut progress = conversation.progress();
    loop {
        let order = tokio::select! {
            biased;
            exit = child.wait() => return (exit, ordered),
            () = talk.go_on(), if !talk.is_over => None,
            order = next(&mut orders), if ordered.is_none() => Some(order),
            () = reported(&mut progress), if patience.is_none() => {
                patience = Some(Box::pin(sleep(overtime)));
                None
            }
            () = elapsed(&mut patience), if ordered.is_none() => Some(EndOrder::Overtime),
            () = conversation.log().on_kill_returned.notified(), if ordered.is_some() => {
                grace = Some(Box::pin(sleep(AFTER_ON_KILL)));
                None
            }
            () = elapsed(&mut grace) => return (child.end().await, ordered),
        };
        if let Some(order) = order {
            ordered = Some(order);
            exit_log::ordered(conversation.log(), order);
            child.ask_to_end();
            grace = Some(Box::pin(sleep(GRACE)));
        }
    }
}

/// Lets the conversation come to its end: for what is being written to the database as long as that takes.
async fn finish(conversation: &Conversation<'_>, talk: &mut Talk<impl Future<Output = ()>>) {
    while !talk.is_over && timeout(LAST_FRAMES, talk.go_on()).await.is_err() {
        if !conversation.progress().borrow().is_delivering {
            break;
        }
    }
    conversation.finish_logs().await;
}

/// The conversation, which may be left and gone on with.
struct Talk<F> {
    future: Pin<Box<F>>,
    is_over: bool,
}

impl<F: Future<Output = ()>> Talk<F> {
    async fn go_on(&mut self) {
        self.future.as_mut().await;
        self.is_over = true;
    }
}

type Timer = Option<Pin<Box<Sleep>>>;

/// Waits for a timer; without end if it was not set.
async fn elapsed(timer: &mut Timer) {
    match timer {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}

/// Waits for an order.
async fn next(orders: &mut watch::Receiver<Option<EndOrder>>) -> EndOrder {
    match orders.wait_for(Option::is_some).await.ok().and_then(|order| *order) {
        Some(order) => order,
        // There is nothing left that could give one.
        None => std::future::pending().await,
    }
}

/// Waits until the task has reported its state.
async fn reported(progress: &mut watch::Receiver<Progress>) {
    if progress.wait_for(|progress| progress.reported.is_some()).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// How a process has ended.
pub(crate) fn how(exit: &Result<ChildExit, Error>) -> Exit {
    let exit = match exit {
        Ok(exit) => exit,
        Err(Error::CannotBeKilled(_)) => return Exit::CannotBeKilled,
        Err(Error::ZygoteLost) => return Exit::WithZygote,
        Err(_) => return Exit::WithForkServer,
    };
    tracing::debug!(status = %exit.status, user = ?exit.usage.user, system = ?exit.usage.system,
        max_rss = exit.usage.max_rss, "a process has ended");
    exit.status.code().map_or_else(|| Exit::Signal(exit.status.signal().unwrap_or(0)), Exit::Code)
}
