//! Asynchronous work of a command or a component, from `main`.

use std::time::Duration;

use tokio::runtime::Builder;

use crate::Error;

/// How long threads are waited for that block when the work is done.
const LAST_THREADS: Duration = Duration::from_secs(1);

/// Runs what has much to do at a time.
pub fn block_on_threads<T, E: From<Error>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2);
    run_on(builder, work)
}

/// Runs what does one thing after the other.
pub fn block_on<T, E: From<Error>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    run_on(Builder::new_current_thread(), work)
}

fn run_on<T, E: From<Error>>(mut builder: Builder, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let runtime = builder.enable_all().build().map_err(Error::Threads)?;
    let outcome = runtime.block_on(work);
    // Dropping it would wait for threads without end: one may list files of a file system that does not answer.
    runtime.shutdown_timeout(LAST_THREADS);
    outcome
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_thread_that_hangs_keeps_no_command_from_ending() {
        for is_on_threads in [true, false] {
            let (answers_one_day, hangs) = mpsc::channel::<()>();
            let (ended, has_ended) = mpsc::channel();
            std::thread::spawn(move || {
                let work = async {
                    drop(tokio::task::spawn_blocking(move || hangs.recv()));
                    Ok::<(), Error>(())
                };
                let outcome = if is_on_threads { block_on_threads(work) } else { block_on(work) };
                ended.send(outcome.is_ok())
            });
            assert!(has_ended.recv_timeout(Duration::from_mins(1)).expect("it ends"));
            assert!(answers_one_day.send(()).is_ok(), "the thread hangs still");
        }
    }
}
