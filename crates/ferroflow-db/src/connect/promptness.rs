//! Messages to a server leave at once, and whether it is gone is known within a minute.
//!
//! By TCP's default, the end of a message waits until its beginning is acknowledged, and the other side delays that by
//! 40 ms. With TLS every message of more than 16 KiB is sent in parts, and waits. The drivers of official Airflow turn
//! this off (`TCP_NODELAY`). And a process that waits for an answer of a host that has lost its power, or whose packets a
//! firewall has begun to drop, waits for hours: nothing asks whether it is still there. Our driver cares for neither, and
//! does not show its socket: it is found among those of this process.

use std::net::SocketAddr;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{getpeername, sockopt};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

/// After so long without a word the other side is asked whether it is there, so often, and then it is given up.
const SILENCE: Duration = Duration::from_secs(20);
const BETWEEN_QUESTIONS: Duration = Duration::from_secs(10);
const QUESTIONS: u32 = 3;

/// What was sent and not acknowledged for so long is given up, with its connection.
const UNHEARD_MILLISECONDS: u32 = 60_000;

/// Has every connection of this process to a port send at once what it is given, and notice that no answer comes. Where
/// the kernel refuses, it is only slower.
pub(super) fn be_prompt(port: u16) {
    if let Err(error) = each_socket(|socket| {
        if leads_to(port, socket) {
            sockopt::set_tcp_nodelay(socket, true)?;
            sockopt::set_socket_keepalive(socket, true)?;
            sockopt::set_tcp_keepidle(socket, SILENCE)?;
            sockopt::set_tcp_keepintvl(socket, BETWEEN_QUESTIONS)?;
            sockopt::set_tcp_keepcnt(socket, QUESTIONS)?;
            sockopt::set_tcp_user_timeout(socket, UNHEARD_MILLISECONDS)?;
        }
        Ok(())
    }) {
        tracing::debug!(%error, "connections to the database wait before they send large statements");
    }
}

fn leads_to(port: u16, socket: &OwnedFd) -> bool {
    let peer = getpeername(socket).ok().flatten();
    peer.and_then(|peer| SocketAddr::try_from(peer).ok()).is_some_and(|peer| peer.port() == port)
}

/// Shows every socket of this process, each by a descriptor of its own, which names the same socket.
fn each_socket(mut show: impl FnMut(&OwnedFd) -> Result<(), Errno>) -> std::io::Result<()> {
    let this = pidfd_open(getpid(), PidfdFlags::empty())?;
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        // Not files: to close any descriptor of one gives up its locks, also SQLite's.
        let is_socket = std::fs::read_link(entry.path())
            .is_ok_and(|target| target.as_os_str().as_encoded_bytes().starts_with(b"socket:"));
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if !is_socket {
            continue;
        }
        match pidfd_getfd(&this, number, PidfdGetfdFlags::empty()) {
            // It was closed in the meantime.
            Err(Errno::BADF) => {}
            socket => show(&socket?)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn only_connections_to_the_port_are_changed() {
        let (wanted, other) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let connect = |to: &TcpListener| TcpStream::connect(to.local_addr().unwrap()).unwrap();
        let (first, second, third) = (connect(&wanted), connect(&wanted), connect(&other));
        assert!(!first.nodelay().unwrap(), "the system's default has changed");
        be_prompt(wanted.local_addr().unwrap().port());
        for stream in [&first, &second] {
            assert!(stream.nodelay().unwrap());
            assert!(sockopt::socket_keepalive(stream).unwrap());
            assert_eq!(sockopt::tcp_keepidle(stream).unwrap(), SILENCE);
        }
        assert!(!third.nodelay().unwrap() && !sockopt::socket_keepalive(&third).unwrap());
    }
}
