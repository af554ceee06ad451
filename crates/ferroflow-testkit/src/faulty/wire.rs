//! One side of a connection, message by message.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// One side of a connection.
pub(super) struct Side {
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    read: Vec<u8>,
}

impl Side {
    pub(super) fn new(stream: TcpStream) -> Self {
        let (from, to) = stream.into_split();
        Self { from, to, read: Vec::new() }
    }

    /// The next message, whose length its beginning tells. May be abandoned and called again.
    pub(super) async fn next(&mut self, length: fn(&[u8]) -> Option<usize>) -> io::Result<Vec<u8>> {
        loop {
            if let Some(length) = length(&self.read)
                && self.read.len() >= length
            {
                let rest = self.read.split_off(length);
                return Ok(std::mem::replace(&mut self.read, rest));
            }
            if self.from.read_buf(&mut self.read).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub(super) async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.to.write_all(message).await
    }
}
