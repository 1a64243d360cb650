//! Reading of a link, no faster than the application takes the messages.

use std::sync::atomic::Ordering;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::bounds::{ACK_EVERY, ACK_IDLE, READ_BYTES, SILENCE_LIMIT};
use crate::codec::{Decode, Incoming, LinkError};
use crate::remote::LinkState;
use crate::writing::SharedWriter;
use crate::{BusEvent, Delivery};

/// The read half and its decoder.
pub(crate) struct ReadSide<D> {
    pub(crate) stream: OwnedReadHalf,
    pub(crate) read: BytesMut,
    pub(crate) decoder: D,
}

/// Receivers of the reading loop.
pub(crate) struct EventSink<'a> {
    pub(crate) heard: &'a mpsc::Sender<BusEvent>,
    pub(crate) shared: &'a LinkState,
}

impl EventSink<'_> {
    /// Waits until the application has room; nothing is read meanwhile.
    async fn message(&self, delivery: Delivery) {
        // Fails if the receiver is gone; the writing loop notices that too, and closes.
        if let Ok(room) = self.heard.reserve().await {
            self.shared.heard.fetch_add(1, Ordering::Relaxed);
            room.send(BusEvent::Message(delivery));
        }
    }
}

/// Reads until the link is lost.
pub(crate) async fn read_all<D: Decode>(
    ear: &mut ReadSide<D>,
    mouth: &SharedWriter,
    told: &EventSink<'_>,
) -> LinkError {
    loop {
        if let Err(why) = read_once(ear, mouth, told).await {
            return why;
        }
    }
}

/// Passes on the decoded inputs, then reads more.
async fn read_once<D: Decode>(
    ear: &mut ReadSide<D>,
    mouth: &SharedWriter,
    told: &EventSink<'_>,
) -> Result<(), LinkError> {
    while let Some(incoming) = ear.decoder.next(&mut ear.read)? {
        match incoming {
            Incoming::Message(delivery) => told.message(delivery).await,
            Incoming::Answer(bytes) => mouth.lock().await.write_all(&bytes).await?,
            Incoming::Chatter => {}
            Incoming::Farewell => return Err(LinkError::Closed),
        }
        if ear.decoder.unacknowledged() >= ACK_EVERY {
            acknowledge(&mut ear.decoder, mouth).await?;
        }
    }
    ear.read.reserve(READ_BYTES);
    if ear.decoder.unacknowledged() > 0 {
        if let Ok(count) = timeout(ACK_IDLE, ear.stream.read_buf(&mut ear.read)).await {
            return some(count?);
        }
        acknowledge(&mut ear.decoder, mouth).await?;
    }
    match timeout(SILENCE_LIMIT, ear.stream.read_buf(&mut ear.read)).await {
        Ok(count) => some(count?),
        Err(_) => Err(LinkError::Silent { seconds: SILENCE_LIMIT.as_secs() }),
    }
}

fn some(count: usize) -> Result<(), LinkError> {
    if count == 0 { Err(LinkError::Closed) } else { Ok(()) }
}

async fn acknowledge<D: Decode>(decoder: &mut D, mouth: &SharedWriter) -> Result<(), LinkError> {
    let mut out = BytesMut::new();
    decoder.acknowledge(&mut out);
    Ok(mouth.lock().await.write_all(&out).await?)
}

/// Reads and discards until the broker has answered the farewell: closing the connection with unread bytes
/// would reset it, and the broker might lose bytes it has not read yet.
pub(crate) async fn await_farewell<D: Decode>(
    ear: &mut ReadSide<D>,
    mouth: &SharedWriter,
) -> Result<(), LinkError> {
    loop {
        while let Some(incoming) = ear.decoder.next(&mut ear.read)? {
            match incoming {
                Incoming::Answer(bytes) => mouth.lock().await.write_all(&bytes).await?,
                Incoming::Farewell => return Ok(()),
                Incoming::Message(_) | Incoming::Chatter => {}
            }
        }
        ear.read.reserve(READ_BYTES);
        some(ear.stream.read_buf(&mut ear.read).await?)?;
    }
}
