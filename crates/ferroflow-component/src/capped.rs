//! Connections that others make to this process: so many at a time, each as long as something happens on it.
//!
//! Each takes a file descriptor, and tasks need those: a client may not have them all by connecting and sending nothing, nor
//! keep others from being answered. A client that comes when all places are taken gets that of the connection on which nothing has
//! happened for the longest time.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// So long nothing may happen on a connection before it is closed, and so long a request may take from its first byte to
/// that of its answer.
const IDLE: Duration = Duration::from_secs(15);

/// A listener that has so many connections at a time.
pub(crate) struct Capped {
    listener: TcpListener,
    room: Arc<Semaphore>,
    in_order: Arc<Mutex<InOrder>>,
    idle: Duration,
}

impl Capped {
    pub(crate) fn new(listener: TcpListener, most: usize) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(most)), in_order: Arc::default(), idle: IDLE }
    }

    /// A place for a connection that is there.
    async fn place(&self) -> Place {
        let permit = match Arc::clone(&self.room).try_acquire_owned() {
            Ok(permit) => Some(permit),
            Err(_) => self.place_of_another().await,
        };
        let close = CancellationToken::new();
        let turn = lock(&self.in_order).add(close.clone());
        let closed = Box::pin(close.clone().cancelled_owned());
        Place { in_order: Arc::clone(&self.in_order), turn, close, closed, _permit: permit }
    }

    async fn place_of_another(&self) -> Option<OwnedSemaphorePermit> {
        // What the others have sent may not have been looked at yet, if all of them have come together.
        for _ in 0..2 {
            tokio::task::yield_now().await;
        }
        lock(&self.in_order).close_first();
        // The semaphore is never closed, so there is a place as soon as that connection is gone.
        Arc::clone(&self.room).acquire_owned().await.ok()
    }
}

impl Listener for Capped {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let (place, until) = (self.place().await, Box::pin(sleep(self.idle)));
        (Connection { stream, idle: self.idle, until, is_asking: false, place }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// The connections in the order in which something has happened on them: that first on which nothing has for longest.
#[derive(Default)]
struct InOrder {
    next: u64,
    connections: BTreeMap<u64, CancellationToken>,
}

impl InOrder {
    fn add(&mut self, close: CancellationToken) -> u64 {
        self.next += 1;
        self.connections.insert(self.next, close);
        self.next
    }

    fn close_first(&mut self) {
        if let Some((_, close)) = self.connections.pop_first() {
            close.cancel();
        }
    }
}

fn lock(in_order: &Mutex<InOrder>) -> std::sync::MutexGuard<'_, InOrder> {
    in_order.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of a connection, until another one needs it.
struct Place {
    in_order: Arc<Mutex<InOrder>>,
    turn: u64,
    close: CancellationToken,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Place {
    /// Something has happened: all others are before it now.
    fn goes_last(&mut self) {
        let mut in_order = lock(&self.in_order);
        // One that is to be closed is not there any more.
        if in_order.connections.remove(&self.turn).is_some() {
            self.turn = in_order.add(self.close.clone());
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.in_order).connections.remove(&self.turn);
    }
}

/// A connection that fails when nothing has happened on it for a while, or when another needs its place.
pub(crate) struct Connection {
    stream: TcpStream,
    idle: Duration,
    until: Pin<Box<Sleep>>,
    /// Whether a part of a request is there, and nothing of its answer: more of it gives no more time.
    is_asking: bool,
    place: Place,
}

/// What happens on a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Reading,
    Writing,
    /// What comes after writing, and is done whenever there is nothing to do.
    Other,
}

impl Connection {
    fn unless_idle<T>(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        step: Step,
        poll: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.place.closed.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let polled = poll(Pin::new(&mut self.stream), context);
        if polled.is_ready() {
            self.as_mut().goes_on(step);
        }
        // Who is given byte after byte of a request that never ends is asked here, too.
        if self.until.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }

    fn goes_on(mut self: Pin<&mut Self>, step: Step) {
        let is_more_of_a_request = step == Step::Reading && self.is_asking;
        if step == Step::Other || is_more_of_a_request {
            return;
        }
        let idle = self.idle;
        self.until.as_mut().set(sleep(idle));
        self.place.goes_last();
        self.is_asking = step == Step::Reading;
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.unless_idle(context, Step::Reading, |stream, context| stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.unless_idle(context, Step::Writing, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_idle(context, Step::Other, TcpStream::poll_flush)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_idle(context, Step::Other, TcpStream::poll_shutdown)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";

    /// Serves answers. Returns the address, and the places that are free.
    async fn serve(most: usize, idle: Duration) -> (SocketAddr, Arc<Semaphore>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let capped = Capped { idle, ..Capped::new(listener, most) };
        let room = Arc::clone(&capped.room);
        let router = Router::new().route("/", get(|| async { "an answer" }));
        tokio::spawn(async move { axum::serve(capped, router).await });
        (address, room)
    }

    async fn ask(mut connection: TcpStream) {
        connection.write_all(REQUEST).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("an answer"), "{answer}");
    }

    async fn is_closed(connection: &mut TcpStream) -> bool {
        connection.read(&mut [0; 1]).await.unwrap_or(0) == 0
    }

    #[tokio::test]
    async fn who_says_nothing_makes_room_for_others() {
        const MOST: usize = 32;
        let (address, room) = serve(MOST, Duration::from_hours(1)).await;
        let mut silent = Vec::new();
        for number in 0..400 {
            silent.push(TcpStream::connect(address).await.unwrap());
            if number % 50 == 0 {
                ask(TcpStream::connect(address).await.unwrap()).await;
            }
        }
        // A request behind all of them is answered; those that came last still have their places.
        ask(TcpStream::connect(address).await.unwrap()).await;
        for connection in &mut silent[..400 - MOST] {
            assert!(is_closed(connection).await);
        }
        ask(silent.pop().unwrap()).await;
        drop(silent);
        while room.available_permits() < MOST {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn who_asks_before_many_others_come_is_answered() {
        let (address, _) = serve(4, Duration::from_hours(1)).await;
        let connect = || {
            let connection = std::net::TcpStream::connect(address).unwrap();
            connection.set_nonblocking(true).unwrap();
            connection
        };
        // All of them are there before the first is looked at.
        let mut asking = connect();
        std::io::Write::write_all(&mut asking, REQUEST).unwrap();
        let silent: Vec<_> = (0..100).map(|_| connect()).collect();
        let mut answer = String::new();
        TcpStream::from_std(asking).unwrap().read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("an answer"), "{answer}");
        drop(silent);
    }

    #[tokio::test]
    async fn a_connection_on_which_nothing_happens_is_closed() {
        let (address, room) = serve(2, Duration::from_millis(100)).await;
        let mut silent = TcpStream::connect(address).await.unwrap();
        assert!(is_closed(&mut silent).await);
        while room.available_permits() < 2 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_request_that_comes_byte_by_byte_is_not_waited_for() {
        let (address, _) = serve(2, Duration::from_millis(200)).await;
        let mut slow = TcpStream::connect(address).await.unwrap();
        let mut written = 0;
        let patience = tokio::time::timeout(Duration::from_millis(20), is_closed(&mut slow));
        let mut closed = patience.await.is_ok();
        while !closed {
            written += 1;
            assert!(written < 1_000, "it is waited for");
            closed = slow.write_all(b"G").await.is_err()
                || tokio::time::timeout(Duration::from_millis(20), is_closed(&mut slow)).await.is_ok();
        }
    }
}
