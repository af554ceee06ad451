//! PostgreSQL's protocol, version 3, as far as a client uses it that sends one statement at a time.

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;

use tokio::net::TcpStream;

use super::spoken::{Role, Spoken, role};
use super::wire::Side;
use super::{Fault, Plan, meet};

/// Hands on what both sides say, until one of them or a fault ends it.
pub(super) async fn serve(client: TcpStream, server: TcpStream, plan: &Mutex<Plan>) -> io::Result<()> {
    let mut session = Session {
        client: Side::new(client),
        server: Side::new(server),
        prepared: HashMap::new(),
        spoken: Spoken::default(),
        is_aborted: false,
    };
    let first = session.client.next(length_of_first).await?;
    session.server.send(&first).await?;
    loop {
        let request = session.next_request().await?;
        if let Some(text) = request.text.clone() {
            session.execute(&request, &text, plan).await?;
        } else {
            session.hand_on(&request.bytes).await?;
        }
    }
}

struct Session {
    client: Side,
    server: Side,
    /// Texts by the names of prepared statements.
    prepared: HashMap<Vec<u8>, String>,
    spoken: Spoken,
    /// Whether the client was told that its transaction has failed, of which the server knows nothing.
    is_aborted: bool,
}

/// What a client wants an answer to.
#[derive(Default)]
struct Request {
    bytes: Vec<u8>,
    /// The statement that it executes, if any.
    text: Option<String>,
}

impl Session {
    /// Reads until the client waits for an answer. What the server says meanwhile is handed on.
    async fn next_request(&mut self) -> io::Result<Request> {
        let mut request = Request::default();
        let mut bound = None;
        loop {
            let message = tokio::select! {
                message = self.client.next(length) => message?,
                message = self.server.next(length) => {
                    self.client.send(&message?).await?;
                    continue;
                }
            };
            let (kind, body) = (message[0], &message[5..]);
            match kind {
                b'P' => {
                    let [name, text] = texts(body);
                    self.prepared.insert(name.to_vec(), String::from_utf8_lossy(text).into_owned());
                }
                b'B' => {
                    let [_, name] = texts(body);
                    bound = self.prepared.get(name).cloned();
                }
                b'E' => request.text = bound.take(),
                b'Q' => request.text = Some(String::from_utf8_lossy(texts::<1>(body)[0]).into_owned()),
                _ => {}
            }
            // Passwords, and the last word: nothing that is ready for the next statement follows.
            if matches!(kind, b'p' | b'X') {
                self.server.send(&message).await?;
                continue;
            }
            request.bytes.extend(message);
            if matches!(kind, b'Q' | b'S') {
                return Ok(request);
            }
        }
    }

    async fn execute(&mut self, request: &Request, text: &str, plan: &Mutex<Plan>) -> io::Result<()> {
        let role = role(text);
        if self.is_aborted {
            return match role {
                Role::Commit | Role::Rollback => {
                    self.spoken.name(text);
                    self.is_aborted = false;
                    self.hand_on(&query("ROLLBACK")).await
                }
                _ => self.refuse("25P02", b'E').await,
            };
        }
        let name = self.spoken.name(text);
        match meet(plan, name) {
            None => self.hand_on(&request.bytes).await,
            Some(Fault::Delay(time)) => {
                tokio::time::sleep(time).await;
                self.hand_on(&request.bytes).await
            }
            Some(Fault::CutBefore) => Err(io::ErrorKind::ConnectionAborted.into()),
            Some(Fault::CutAfter) => {
                self.server.send(&request.bytes).await?;
                self.swallow_answer().await?;
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            Some(Fault::Refuse(code)) => {
                if role == Role::Commit {
                    self.server.send(&query("ROLLBACK")).await?;
                    self.swallow_answer().await?;
                }
                let is_over = role != Role::Work || !self.spoken.is_open;
                if is_over {
                    self.spoken = Spoken::default();
                }
                self.is_aborted = !is_over;
                self.refuse(code, if is_over { b'I' } else { b'E' }).await
            }
        }
    }

    /// Sends a request to the server, and its answer to the client.
    async fn hand_on(&mut self, request: &[u8]) -> io::Result<()> {
        self.server.send(request).await?;
        loop {
            let message = self.server.next(length).await?;
            self.client.send(&message).await?;
            if message[0] == b'Z' {
                return Ok(());
            }
        }
    }

    async fn swallow_answer(&mut self) -> io::Result<()> {
        while self.server.next(length).await?[0] != b'Z' {}
        Ok(())
    }

    /// Answers in the server's place. What says that the connection is over ends it.
    async fn refuse(&mut self, code: &str, state: u8) -> io::Result<()> {
        let is_fatal = code.starts_with("08") || code.starts_with("57P");
        let severity = if is_fatal { "FATAL" } else { "ERROR" };
        let fields = format!("S{severity}\0V{severity}\0C{code}\0Mrefused by a test\0\0");
        self.client.send(&message(b'E', fields.as_bytes())).await?;
        if is_fatal {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.client.send(&message(b'Z', &[state])).await
    }
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("messages of tests are short");
    [&[kind], &length.to_be_bytes()[..], body].concat()
}

/// The first texts of a message, each of which ends with a zero.
fn texts<const N: usize>(body: &[u8]) -> [&[u8]; N] {
    let mut texts = body.split(|byte| *byte == 0);
    std::array::from_fn(|_| texts.next().unwrap_or_default())
}

/// A letter, and the length of all but that.
fn length(read: &[u8]) -> Option<usize> {
    length_of_first(read.get(1..)?).map(|length| length + 1)
}

/// What a client begins with has no letter.
fn length_of_first(read: &[u8]) -> Option<usize> {
    let length = u32::from_be_bytes(read.get(..4)?.try_into().ok()?);
    usize::try_from(length).ok()
}
