//! `ferroflow standalone`: DAG processor, scheduler and tasks in one process, with what they need.
//!
//! `prepare.rs` makes what is missing, `keys.rs` the keys among it, `roles.rs` runs the components, `look.rs` asks the database once a second what goes
//! on, `happenings.rs` and `view.rs` put that into words, and `screen.rs` shows them.

mod examples;
mod happenings;
mod keys;
mod look;
mod prepare;
mod roles;
mod screen;
mod snapshot;
mod view;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use ferroflow_component::{Process, Runtime, Shutdown};
use ferroflow_config::Environment;
use ferroflow_db::Db;
use ferroflow_telemetry::{chain, clock};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::output::Text;
use crate::session::block_on_threads;
use happenings::happenings;
use look::Looker;
use prepare::{Prepared, prepare};
use roles::run_roles;
use screen::Screen;
use snapshot::{Phase, Snapshot};

/// How often the database is asked what goes on.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How it is run.
#[derive(Args)]
pub(crate) struct StandaloneCommand {
    /// Log everything
    #[arg(short, long)]
    verbose: bool,
}

pub(crate) fn run(command: &StandaloneCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let prepared = prepare(environment, command.verbose, out)?;
    let mut screen = Screen::new(out, environment);
    block_on_threads(serve(&prepared, &mut screen))
}

async fn serve(prepared: &Prepared, screen: &mut Screen<'_>) -> Result<()> {
    let process = Process::begin(&prepared.session, prepared.session.settings.scheduler.enable_health_check)?;
    let shutdown = &process.shutdown;
    screen.show(&[Text::new().faint("starting …")]);
    let started = tokio::select! {
        // Python takes longer to start than all the rest, and only the DAG processor needs it at once.
        started = Box::pin(Runtime::connect(&prepared.session, prepared.variables.clone())) => started,
        () = shutdown.stop.cancelled() => {
            screen.show(&[]);
            return Ok(());
        }
    };
    let runtime = Arc::new(started?.in_process(&process));
    let looker = Looker::start(&runtime.db, &runtime.settings).await?;
    let roles = tokio::spawn(run_roles(Arc::clone(&runtime), shutdown.clone()));
    let outcome = watch(&runtime.db, looker, roles, shutdown, &prepared.log_file, screen).await;
    process.end(&runtime).await;
    outcome
}

/// Shows what goes on until the components have ended. What is shown may be late or missing; they work on.
async fn watch(
    db: &Db,
    mut looker: Looker,
    mut roles: JoinHandle<Result<()>>,
    shutdown: &Shutdown,
    log_file: &Path,
    screen: &mut Screen<'_>,
) -> Result<()> {
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut seen, mut phase) = (Snapshot::default(), Phase::Working);
    loop {
        let outcome = tokio::select! {
            outcome = &mut roles => Some(outcome),
            () = shutdown.stop.cancelled(), if phase == Phase::Working => None,
            () = shutdown.hurry.cancelled(), if phase == Phase::Waiting => None,
            _ = ticks.tick() => None,
        };
        let phase_before = phase;
        phase = Phase::of(shutdown);
        match looker.look(db, clock::now()).await {
            Ok(now_seen) => {
                let mut told = happenings(&seen, &now_seen, screen.is_live());
                told.extend(view::phase_begins(phase_before, phase, &now_seen));
                screen.tell(&told, &view::block(&now_seen, phase));
                seen = now_seen;
            }
            Err(error) => {
                tracing::warn!("it cannot be seen what goes on: {}", chain(&error));
                screen.show(&view::trouble(log_file));
            }
        }
        if screen.is_gone() {
            shutdown.stop.cancel();
        }
        if let Some(outcome) = outcome {
            screen.tell(&view::farewell(&seen, looker.ended()), &[]);
            return outcome.context("a component has crashed")?;
        }
    }
}
