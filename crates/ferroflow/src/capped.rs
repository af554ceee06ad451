//! Connections that others make to this process: so many at a time, each as long as something happens on it.
//!
//! Each takes a file descriptor, and tasks need those: nobody may have them all by connecting and saying nothing.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// So long nothing may happen on a connection before it is closed.
const IDLE: Duration = Duration::from_secs(15);

/// A listener that has so many connections at a time. Others wait until one is closed.
pub(crate) struct Capped {
    listener: TcpListener,
    room: Arc<Semaphore>,
    idle: Duration,
}

impl Capped {
    pub(crate) fn new(listener: TcpListener, most: usize) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(most)), idle: IDLE }
    }
}

impl Listener for Capped {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        // It is never closed, so there is a place sooner or later.
        let place = Arc::clone(&self.room).acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (Connection { stream, idle: self.idle, until: Box::pin(sleep(self.idle)), _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that fails when nothing has happened on it for a while.
pub(crate) struct Connection {
    stream: TcpStream,
    idle: Duration,
    until: Pin<Box<Sleep>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Connection {
    fn unless_idle<T>(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        poll: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let polled = poll(Pin::new(&mut self.stream), context);
        if polled.is_ready() {
            let idle = self.idle;
            self.until.as_mut().set(sleep(idle));
            return polled;
        }
        ready!(self.until.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.unless_idle(context, |stream, context| stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.unless_idle(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_idle(context, TcpStream::poll_flush)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_idle(context, TcpStream::poll_shutdown)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn who_says_nothing_makes_room_for_others() {
        const MOST: usize = 2;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let capped = Capped { idle: Duration::from_millis(200), ..Capped::new(listener, MOST) };
        let room = Arc::clone(&capped.room);
        let router = Router::new().route("/", get(|| async { "an answer" }));
        tokio::spawn(async move { axum::serve(capped, router).await });

        let mut silent = Vec::new();
        for _ in 0..3 * MOST {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        while room.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        // Behind all of them somebody asks, and is answered.
        let mut asking = TcpStream::connect(address).await.unwrap();
        asking.write_all(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        asking.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("an answer"), "{answer}");
        for mut connection in silent {
            assert_eq!(connection.read(&mut [0; 1]).await.unwrap_or(0), 0, "it was closed");
        }
        // The listener holds a place for whoever comes next.
        while room.available_permits() < MOST - 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
