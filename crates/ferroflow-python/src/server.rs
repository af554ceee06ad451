//! The fork server as its users see it: it is there, or comes back.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use ferroflow_telemetry::clock::Stopwatch;
use tokio::sync::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::child::{Child, ChildLimits, Entry};
use crate::connection::Connection;
use crate::given_up::{GivenUp, Remains};
use crate::options::ForkServerOptions;
use crate::output::Sink;
use crate::zygote::{Zygote, ZygoteFile, ZygoteLimits};
use crate::{Error, Result};

/// So long a fork server must have lived to be forgiven its death.
const PROVEN: Duration = Duration::from_mins(1);
/// After so many deaths in a row callers are told, and no longer wait.
const PATIENCE: u32 = 4;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const MAX_WAIT: Duration = Duration::from_secs(30);

/// A handle to a warm Python process, from which children are forked. Cheap to clone.
///
/// When the last handle and the last child are dropped, the process ends, and all that it started.
#[derive(Clone, Debug)]
pub struct ForkServer(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: ForkServerOptions,
    state: Mutex<State>,
    /// Held while parsing: together with others, or alone.
    turns: RwLock<()>,
    given_up: Arc<GivenUp>,
    /// Files that were being parsed by processes that cannot be killed.
    stuck: std::sync::Mutex<HashMap<PathBuf, Remains>>,
}

#[derive(Debug, Default)]
struct State {
    /// Nothing until it is first needed.
    connection: Option<Arc<Connection>>,
    deaths: u32,
    /// Since the last death was seen.
    dead: Option<Stopwatch>,
}

impl ForkServer {
    /// Starts Python and waits until it has loaded Airflow.
    pub async fn start(options: ForkServerOptions) -> Result<Self> {
        let server = Self::at_first_use(options);
        server.connection().await?;
        Ok(server)
    }

    /// Has Python started by the first caller that needs it, which waits for it.
    pub fn at_first_use(options: ForkServerOptions) -> Self {
        Self(Arc::new(Shared {
            options,
            state: Mutex::default(),
            turns: RwLock::default(),
            given_up: Arc::default(),
            stuck: std::sync::Mutex::default(),
        }))
    }

    /// The version of Airflow's Task SDK that it has loaded. Waits until it has.
    pub async fn sdk_version(&self) -> Result<String> {
        Ok(self.connection().await?.sdk_version().to_owned())
    }

    /// Forks a child, whose lines go to `sink`. A fork server that has died is started again first.
    pub async fn fork(&self, entry: Entry, limits: ChildLimits, sink: &Arc<dyn Sink>) -> Result<Child> {
        self.0.given_up.admit(entry)?;
        let connection = self.connection().await?;
        Child::fork(connection, entry, limits, sink).await
    }

    /// Has a DAG file imported in a process from which its tasks can be forked.
    pub async fn zygote(
        &self,
        file: &ZygoteFile,
        limits: ZygoteLimits,
        sink: &Arc<dyn Sink>,
    ) -> Result<Zygote> {
        Zygote::start(self.connection().await?, file, limits, sink).await
    }

    /// A turn to parse, unless another caller has to parse alone.
    pub(crate) async fn among_others(&self) -> RwLockReadGuard<'_, ()> {
        self.0.turns.read().await
    }

    /// A turn to parse alone.
    pub(crate) async fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.turns.write().await
    }

    /// Ends the process and all that it started, and waits for that.
    pub async fn stop(&self) {
        const LONG_ENOUGH: Duration = Duration::from_secs(5);
        let Some(connection) = self.0.state.lock().await.connection.clone() else { return };
        connection.close();
        if tokio::time::timeout(LONG_ENOUGH, connection.lost()).await.is_err() {
            connection.give_up().await;
        }
    }

    async fn connection(&self) -> Result<Arc<Connection>> {
        self.0.state.lock().await.connection(&self.0.options, &self.0.given_up).await
    }

    /// The process that is stuck with a file, if there is one.
    pub(crate) fn stuck_with(&self, file: &Path) -> Option<i32> {
        let mut stuck = self.0.stuck.lock().unwrap_or_else(PoisonError::into_inner);
        stuck.retain(|_, remains| !remains.is_gone());
        stuck.get(file).map(Remains::pid)
    }

    /// Remembers which process is stuck with a file.
    pub(crate) fn is_stuck(&self, file: &Path, remains: Remains) {
        self.0.stuck.lock().unwrap_or_else(PoisonError::into_inner).insert(file.to_owned(), remains);
    }
}

impl State {
    async fn connection(
        &mut self,
        options: &ForkServerOptions,
        given_up: &Arc<GivenUp>,
    ) -> Result<Arc<Connection>> {
        match self.connection.clone() {
            Some(connection) if !connection.is_lost() => return Ok(connection),
            lost => self.wait_after_death(lost.as_deref()).await?,
        }
        self.start(options, given_up).await
    }

    /// Returns at once if there was none.
    async fn wait_after_death(&mut self, lost: Option<&Connection>) -> Result<()> {
        match lost {
            Some(lost) if self.dead.is_none() => {
                self.deaths = if lost.age() > PROVEN { 1 } else { self.deaths + 1 };
            }
            None if self.dead.is_none() => return Ok(()),
            _ => {}
        }
        let dead = self.dead.get_or_insert_with(Stopwatch::start);
        let wait = wait_after(self.deaths).saturating_sub(dead.elapsed());
        if self.deaths > PATIENCE && !wait.is_zero() {
            let output = lost.map(Connection::tail).unwrap_or_default();
            return Err(Error::KeepsDying { times: self.deaths, wait, output });
        }
        tokio::time::sleep(wait).await;
        Ok(())
    }

    async fn start(
        &mut self,
        options: &ForkServerOptions,
        given_up: &Arc<GivenUp>,
    ) -> Result<Arc<Connection>> {
        match Connection::start(options, Arc::clone(given_up)).await {
            Ok(connection) => {
                self.dead = None;
                Ok(Arc::clone(self.connection.insert(Arc::new(connection))))
            }
            // The system was out of something: that says nothing about the fork server.
            Err(error) if error.is_for_now() => Err(error),
            Err(error) => {
                self.deaths += 1;
                self.dead = Some(Stopwatch::start());
                Err(error)
            }
        }
    }
}

/// Twice as long after each death: the first may have been an accident.
fn wait_after(deaths: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(deaths.saturating_sub(1));
    FIRST_WAIT.saturating_mul(doubled).min(MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_death_in_a_row_costs_a_longer_wait_up_to_a_limit() {
        assert_eq!([1, 2, 3, 4].map(|deaths| wait_after(deaths).as_millis()), [100, 200, 400, 800]);
        assert_eq!([20, u32::MAX].map(wait_after), [MAX_WAIT; 2]);
    }
}
