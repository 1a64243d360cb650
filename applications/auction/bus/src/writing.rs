//! Writing of queued messages to a link, in batches.

use bytes::BytesMut;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{MissedTickBehavior, interval};

use crate::bounds::{BATCH, PING_EVERY, WRITE_BYTES};
use crate::codec::{Encode, LinkError, Parcel};

/// The write half, used by both loops: for messages, acknowledgements, answers. Neither waits for the other
/// for long, because a broker reads whether or not this side does.
pub(crate) type SharedWriter = Mutex<OwnedWriteHalf>;

/// State of the writing loop.
pub(crate) struct WriteTask<'a> {
    pub(crate) queue: &'a mut mpsc::Receiver<Parcel>,
    pub(crate) batch: &'a mut Vec<Parcel>,
    pub(crate) mouth: &'a SharedWriter,
}

impl WriteTask<'_> {
    async fn write(&self, out: &mut BytesMut) -> Result<(), LinkError> {
        self.mouth.lock().await.write_all(out).await?;
        out.clear();
        Ok(())
    }

    /// Writes the batch in as few pieces as its length allows. Messages left in it were not written whole.
    async fn write_batch<E: Encode>(&mut self, encoder: &mut E, out: &mut BytesMut) -> Result<(), LinkError> {
        while !self.batch.is_empty() {
            let mut count = 0;
            while count < self.batch.len() && out.len() < WRITE_BYTES {
                encoder.message(&self.batch[count], out);
                count += 1;
            }
            self.write(out).await?;
            self.batch.drain(..count);
        }
        Ok(())
    }
}

/// Writes queued messages in batches until `stop`; then the rest and the farewell.
pub(crate) async fn write_all<E: Encode>(
    writing: &mut WriteTask<'_>,
    encoder: &mut E,
    stop: impl Future<Output = ()>,
) -> Result<(), LinkError> {
    let mut stop = std::pin::pin!(stop);
    let mut stopped = false;
    let mut ping = interval(PING_EVERY);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut out = BytesMut::with_capacity(WRITE_BYTES);
    loop {
        tokio::select! {
            taken = writing.queue.recv_many(writing.batch, BATCH) => {
                if taken == 0 {
                    encoder.farewell(&mut out);
                    return writing.write(&mut out).await;
                }
                writing.write_batch(encoder, &mut out).await?;
            }
            _ = ping.tick() => {
                encoder.ping(&mut out);
                writing.write(&mut out).await?;
            }
            () = &mut stop, if !stopped => {
                stopped = true;
                // Queued messages can still be taken out; then the queue ends.
                writing.queue.close();
            }
        }
    }
}
