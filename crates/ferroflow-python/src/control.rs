//! The fork server's control socket: one JSON object per packet, descriptors attached.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::net::UnixDatagram;

use crate::Result;

const MAX_DESCRIPTORS: usize = 4;
const MAX_PACKET: usize = 64 << 10;

/// What the fork server is asked.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Order {
    Fork { fork: u64, entry: &'static str, memory: Option<u64> },
    Signal { signal: u64, number: i32 },
    GiveUp { give_up: u64 },
}

/// What it tells.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Report {
    Ready { ready: Box<Ready> },
    ZygoteReady { ready: ZygoteFiles },
    ZygoteFiles(ZygoteFiles),
    Forked { forked: u64, pid: i32, outlives: bool },
    Refused { refused: u64, reason: String, for_now: bool },
    GivenUp { given_up: u64 },
    Exit(ExitReport),
    Unfit { unfit: String },
}

/// What a template is told first.
#[derive(Debug, Serialize)]
pub(crate) struct ZygoteOrder<'a> {
    pub(crate) bundle: &'a str,
    pub(crate) version: Option<&'a str>,
    pub(crate) file: &'a str,
    pub(crate) tasks_per_process: u32,
}

/// What a template has imported, or a part of it: files, each with its time of modification and its size.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ZygoteFiles {
    pub(crate) files: Vec<(PathBuf, i64, u64)>,
}

/// What it has loaded.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Ready {
    pub(crate) airflow: String,
    pub(crate) sdk: String,
    pub(crate) python: String,
    pub(crate) seconds: f64,
    pub(crate) threads: u32,
    pub(crate) dags: usize,
    pub(crate) errors: Vec<String>,
}

/// How a child ended.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ExitReport {
    pub(crate) exit: u64,
    pub(crate) status: i32,
    pub(crate) user: f64,
    pub(crate) system: f64,
    pub(crate) max_rss: u64,
}

/// Our end of the socket.
///
/// The runtime has no type for packets over a connection; that for datagrams is as good to wait with.
#[derive(Debug)]
pub(crate) struct ControlSocket(UnixDatagram);

impl ControlSocket {
    /// Our end, and the fork server's.
    pub(crate) fn pair() -> Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        Ok((Self(UnixDatagram::from_std(ours.into())?), theirs))
    }

    /// Sends an order, with descriptors.
    pub(crate) async fn send(&self, order: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> Result<()> {
        let packet = serde_json::to_vec(order).map_err(std::io::Error::from)?;
        self.send_packet(&packet, descriptors).await
    }

    /// Sends a packet, with descriptors.
    pub(crate) async fn send_packet(&self, packet: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<()> {
        let sending = self.0.async_io(Interest::WRITABLE, || send_now(self.0.as_fd(), packet, descriptors));
        sending.await?;
        Ok(())
    }

    /// Sends an order if there is room for it at once: for a signal handler, which cannot wait.
    pub(crate) fn try_send(&self, order: &Order) -> Result<()> {
        let packet = serde_json::to_vec(order).map_err(std::io::Error::from)?;
        send_now(self.0.as_fd(), &packet, &[])?;
        Ok(())
    }

    /// Tells the fork server that there is nothing more to come.
    pub(crate) fn close(&self) {
        // It fails only if the other end is closed already.
        let _ = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Write);
    }

    /// The next report and what came with it; `None` when the fork server is gone.
    pub(crate) async fn receive(&self) -> Result<Option<(Report, Vec<OwnedFd>)>> {
        let mut packet = vec![0; MAX_PACKET];
        let receiving = self.0.async_io(Interest::READABLE, || receive_now(self.0.as_fd(), &mut packet));
        let (length, descriptors) = receiving.await?;
        if length == 0 {
            return Ok(None);
        }
        let report = serde_json::from_slice(&packet[..length]).map_err(std::io::Error::from)?;
        Ok(Some((report, descriptors)))
    }
}

/// Sends bytes, with descriptors, as far as there is room at once. Answers how many bytes that were.
pub(crate) fn send_now(
    socket: BorrowedFd<'_>,
    packet: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> std::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !attached.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(std::io::Error::other("too many descriptors for one packet"));
    }
    Ok(sendmsg(socket, &[IoSlice::new(packet)], &mut attached, SendFlags::NOSIGNAL)?)
}

fn receive_now(socket: BorrowedFd<'_>, packet: &mut [u8]) -> std::io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [IoSliceMut::new(packet)], &mut attached, RecvFlags::CMSG_CLOEXEC)?;
    if received.flags.contains(ReturnFlags::TRUNC) {
        return Err(std::io::Error::other("a packet of the fork server is too long"));
    }
    let mut descriptors = Vec::new();
    for message in attached.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok((received.bytes, descriptors))
}
