//! A child that is told once what to do, and asks for what it needs until it ends.

use std::time::Duration;

use rmpv::Value;
use tokio::net::UnixStream;

use crate::child::{Child, Exit};
use crate::frame::{self, Frame};
use crate::message::{Answers, get};
use crate::{Error, Result};

/// How long what a dead child left in the socket may take to be read.
const LAST_FRAMES: Duration = Duration::from_secs(2);

/// Tells a child what to do and answers what it asks, until it has ended. What it said last has been answered by then.
pub async fn serve(child: &mut Child, first: Value, answers: &impl Answers) -> Result<Exit> {
    let mut channel = child.take_channel().ok_or(Error::Lost)?;
    let mut talk = std::pin::pin!(talk(&mut channel, first, answers));
    tokio::select! {
        () = &mut talk => child.wait().await,
        exit = child.wait() => {
            // No process may be left that holds the socket open, or one may.
            drop(tokio::time::timeout(LAST_FRAMES, talk).await);
            exit
        }
    }
}

async fn talk(channel: &mut UnixStream, first: Value, answers: &impl Answers) {
    if let Err(error) = exchange(channel, first, answers).await
        && !matches!(error, Error::Io(_))
    {
        // The socket is closed with that, whereupon the child gives up. How it ends says more.
        tracing::warn!(%error, "a message of a child cannot be read");
    }
}

async fn exchange(channel: &mut UnixStream, first: Value, answers: &impl Answers) -> Result<()> {
    frame::write(channel, Frame { id: 0, body: first, third: Value::Nil }).await?;
    while let Some(Frame { id, body, .. }) = frame::read(channel).await? {
        let kind = get(&body, "type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (body, third) = answers.answer(&kind, body).await.into_parts();
        frame::write(channel, Frame { id, body, third }).await?;
    }
    Ok(())
}
