//! Something between ferroflow and its database that can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// Hands connections on to a server, until it is cut.
pub(crate) struct Proxy {
    address: SocketAddr,
    server: String,
    /// Of the current listener: whether it is to stop.
    stop: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    /// A proxy to a server, `host:port`.
    pub(crate) fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut proxy = Self {
            address: listener.local_addr().unwrap(),
            server: server.to_owned(),
            stop: Arc::default(),
            connections: Arc::default(),
        };
        proxy.serve(listener);
        proxy
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes every connection. New ones are refused from now on.
    pub(crate) fn cut(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        for connection in self.connections.lock().unwrap().drain(..) {
            drop(connection.shutdown(Shutdown::Both));
        }
        // The listener is gone once nobody accepts any more.
        while TcpStream::connect(self.address).is_ok() {
            sleep(Duration::from_millis(5));
        }
    }

    /// Takes connections again.
    pub(crate) fn mend(&mut self) {
        let listener = TcpListener::bind(self.address).unwrap();
        self.serve(listener);
    }

    fn serve(&mut self, listener: TcpListener) {
        listener.set_nonblocking(true).unwrap();
        self.stop = Arc::new(AtomicBool::new(false));
        let (stop, server) = (Arc::clone(&self.stop), self.server.clone());
        let connections = Arc::clone(&self.connections);
        spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((client, _)) => connect(client, &server, &connections),
                    Err(_) => sleep(Duration::from_millis(5)),
                }
            }
        });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

fn connect(client: TcpStream, server: &str, connections: &Mutex<Vec<TcpStream>>) {
    client.set_nonblocking(false).unwrap();
    let server = TcpStream::connect(server).unwrap();
    let ends = [client.try_clone().unwrap(), server.try_clone().unwrap()];
    connections.lock().unwrap().extend(ends);
    let (back_from, back_to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    spawn(move || hand_on(client, server));
    spawn(move || hand_on(back_from, back_to));
}

fn hand_on(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 << 10];
    while let Ok(length) = from.read(&mut buffer) {
        if length == 0 || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    drop(to.shutdown(Shutdown::Both));
}
