//! What is started once the system has room for it.

use std::time::Duration;

use ferroflow_python::Error;
use ferroflow_telemetry::chain;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Starts a process. As long as the system is out of what one takes (descriptors, memory, process numbers), it is tried
/// again: none of what it is for has begun, and its row stays queued.
pub(crate) async fn when_there_is_room<T, F>(what: &str, start: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        match start().await {
            Err(error) if error.is_for_now() => {
                tracing::warn!(what, ?pause, "a process is started later: {}", chain(&error));
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
            answered => return answered,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io;

    use rustix::io::Errno;

    use super::*;

    #[tokio::test]
    async fn what_passes_is_waited_for_and_nothing_else() {
        let times = Cell::new(0);
        let started = when_there_is_room("a task", || async {
            times.set(times.get() + 1);
            match times.get() {
                1 => Err(Error::Io(Errno::MFILE.into())),
                2 => Err(Error::Exhausted("the fork server says so".to_owned())),
                _ => Ok(times.get()),
            }
        });
        assert_eq!(started.await.unwrap(), 3);
        for error in [|| Error::Lost, || Error::Io(io::ErrorKind::NotFound.into())] {
            assert!(when_there_is_room("a task", || async { Err::<(), Error>(error()) }).await.is_err());
        }
        for errno in [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM, Errno::NOBUFS] {
            assert!(Error::Io(errno.into()).is_for_now());
            assert!(Error::Start { python: "python".into(), source: errno.into() }.is_for_now());
        }
    }
}
