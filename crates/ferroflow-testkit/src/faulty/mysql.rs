//! The protocol of MySQL and MariaDB, as far as our driver uses it.

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;

use tokio::net::TcpStream;

use super::spoken::{Role, Spoken, role};
use super::wire::Side;
use super::{Fault, Plan, meet};

const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const CLOSE: u8 = 0x19;

const OK: u8 = 0x00;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// That another answer follows.
const MORE_RESULTS: u8 = 0x08;

/// The client can do without a packet after the columns.
const DEPRECATE_EOF: u32 = 1 << 24;

/// Hands on what both sides say, until one of them or a fault ends it.
pub(super) async fn serve(client: TcpStream, server: TcpStream, plan: &Mutex<Plan>) -> io::Result<()> {
    let mut session = Session {
        client: Side::new(client),
        server: Side::new(server),
        has_ends: true,
        prepared: HashMap::new(),
        spoken: Spoken::default(),
    };
    session.log_in().await?;
    loop {
        let packet = session.client.next(length).await?;
        let (command, body) = (packet[4], &packet[5..]);
        let text = match command {
            QUERY => Some(String::from_utf8_lossy(body).into_owned()),
            EXECUTE => session.prepared.get(&body[..4]).cloned(),
            _ => None,
        };
        match (text, command) {
            (Some(text), _) => session.execute(&packet, &text, plan).await?,
            // Nothing is said to that.
            (None, QUIT | CLOSE) => session.server.send(&packet).await?,
            (None, PREPARE) => {
                let text = String::from_utf8_lossy(body).into_owned();
                let first = session.hand_on(&packet).await?;
                if first[4] == OK {
                    session.prepared.insert(first[5..9].to_vec(), text);
                }
            }
            (None, _) => drop(session.hand_on(&packet).await?),
        }
    }
}

struct Session {
    client: Side,
    server: Side,
    /// Whether a packet says that there are no more columns.
    has_ends: bool,
    /// Texts by the numbers of prepared statements.
    prepared: HashMap<Vec<u8>, String>,
    spoken: Spoken,
}

impl Session {
    async fn log_in(&mut self) -> io::Result<()> {
        let greeting = self.server.next(length).await?;
        self.client.send(&greeting).await?;
        let response = self.client.next(length).await?;
        let abilities = response[4..8].try_into().map_or(0, u32::from_le_bytes);
        self.has_ends = abilities & DEPRECATE_EOF == 0;
        self.server.send(&response).await?;
        loop {
            tokio::select! {
                packet = self.client.next(length) => self.server.send(&packet?).await?,
                packet = self.server.next(length) => {
                    let packet = packet?;
                    self.client.send(&packet).await?;
                    if packet[4] == OK {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn execute(&mut self, packet: &[u8], text: &str, plan: &Mutex<Plan>) -> io::Result<()> {
        let name = self.spoken.name(text);
        match meet(plan, name) {
            None => drop(self.hand_on(packet).await?),
            Some(Fault::Delay(time)) => {
                tokio::time::sleep(time).await;
                drop(self.hand_on(packet).await?);
            }
            Some(Fault::CutBefore) => return Err(io::ErrorKind::ConnectionAborted.into()),
            Some(Fault::CutAfter) => {
                self.server.send(packet).await?;
                self.answer(packet[4], false).await?;
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            Some(Fault::Refuse(code)) => {
                // A commit that fails, and a deadlock, undo all of it.
                if role(text) == Role::Commit || code == "1213" {
                    self.server.send(&query("ROLLBACK")).await?;
                    self.answer(QUERY, false).await?;
                }
                self.refuse(code).await?;
            }
        }
        Ok(())
    }

    /// Sends a packet to the server, and the answer to the client. Returns the first packet of that.
    async fn hand_on(&mut self, packet: &[u8]) -> io::Result<Vec<u8>> {
        self.server.send(packet).await?;
        self.answer(packet[4], true).await
    }

    /// Reads an answer to the end.
    async fn answer(&mut self, command: u8, is_handed_on: bool) -> io::Result<Vec<u8>> {
        let first = self.next(is_handed_on).await?;
        let ends = u64::from(self.has_ends);
        match (first[4], command) {
            (ERROR, _) => {}
            (OK, PREPARE) => {
                let number = |place: usize| u64::from(u16::from_le_bytes([first[place], first[place + 1]]));
                for definitions in [number(9), number(11)] {
                    let packets = if definitions == 0 { 0 } else { definitions + ends };
                    for _ in 0..packets {
                        self.next(is_handed_on).await?;
                    }
                }
            }
            (1.., QUERY | EXECUTE) => {
                for _ in 0..columns(&first[4..]) + ends {
                    self.next(is_handed_on).await?;
                }
                while !matches!(self.next(is_handed_on).await?[4], END | ERROR) {}
            }
            (OK, QUERY) => {
                let mut last = first.clone();
                while last[4] == OK && has_more(&last[4..]) {
                    last = self.next(is_handed_on).await?;
                }
            }
            _ => {}
        }
        Ok(first)
    }

    async fn next(&mut self, is_handed_on: bool) -> io::Result<Vec<u8>> {
        let packet = self.server.next(length).await?;
        if is_handed_on {
            self.client.send(&packet).await?;
        }
        Ok(packet)
    }

    /// Answers in the server's place. What says that the connection is over ends it.
    async fn refuse(&mut self, code: &str) -> io::Result<()> {
        let number: u16 = code.parse().expect("MariaDB's errors have numbers");
        let body = [&[ERROR], &number.to_le_bytes()[..], b"#HY000refused by a test"].concat();
        self.client.send(&packet(1, &body)).await?;
        let is_fatal = (2000..3000).contains(&number) || matches!(number, 1053 | 1927);
        if is_fatal { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

fn query(text: &str) -> Vec<u8> {
    packet(0, &[&[QUERY], text.as_bytes()].concat())
}

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("packets of tests are short").to_le_bytes();
    [&length[..3], &[number], body].concat()
}

/// Whether there is an answer to a further statement of the same text. Those of which there are several change no row.
fn has_more(ok: &[u8]) -> bool {
    matches!(ok, [OK, 0, 0, status, ..] if status & MORE_RESULTS != 0)
}

/// How many columns follow.
fn columns(body: &[u8]) -> u64 {
    match body {
        [0xfc, low, high, ..] => u64::from(u16::from_le_bytes([*low, *high])),
        [number, ..] => u64::from(*number),
        [] => 0,
    }
}

/// Three bytes of length, one of number.
fn length(read: &[u8]) -> Option<usize> {
    let [low, middle, high] = read.get(..3)?.try_into().ok()?;
    Some(4 + usize::try_from(u32::from_le_bytes([low, middle, high, 0])).ok()?)
}
