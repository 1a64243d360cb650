//! Keeps one link to a broker: uses it until it is lost, and connects again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{Mutex, mpsc, watch};
use tokio::time::{sleep, timeout};

use crate::BusEvent;
use crate::bounds::{CLOSE_LIMIT, STEADY_AFTER};
use crate::codec::{Broker, Link, LinkError, Parcel};
use crate::delays::Delays;
use crate::reading::{EventSink, ReadSide, await_farewell, read_all};
use crate::remote::{self, LinkState};
use crate::writing::{WriteTask, write_all};

/// The task's side of the bus.
pub(crate) struct Session<B> {
    pub(crate) broker: B,
    pub(crate) queue: mpsc::Receiver<Parcel>,
    pub(crate) heard: mpsc::Sender<BusEvent>,
    pub(crate) closing: watch::Receiver<bool>,
    pub(crate) shared: Arc<LinkState>,
    /// Messages taken from the queue and not yet written.
    pub(crate) batch: Vec<Parcel>,
    pub(crate) delays: Delays,
}

/// End of the use of a link.
enum End {
    /// Everything is sent, or the time limit is over.
    Closed,
    Lost(LinkError),
}

impl<B: Broker> Session<B> {
    /// Runs until the bus is closed.
    pub(crate) async fn run(mut self, first: Link<B::Encoder, B::Decoder>) {
        let mut link = first;
        loop {
            let why = match self.use_link(link).await {
                End::Closed => break,
                End::Lost(why) => why,
            };
            self.shared.up.store(false, Ordering::Release);
            self.drop_queued();
            if !self.say(BusEvent::Lost { why: why.in_words() }).await {
                break;
            }
            let Some(again) = self.open_again().await else { break };
            link = again;
            // A sender may have seen the old link up and queued late.
            self.drop_queued();
            self.shared.reconnects.fetch_add(1, Ordering::Relaxed);
            self.shared.up.store(true, Ordering::Release);
        }
        self.shared.up.store(false, Ordering::Release);
        self.drop_queued();
    }

    fn drop_queued(&mut self) {
        let mut dropped = self.batch.drain(..).count() as u64;
        while self.queue.try_recv().is_ok() {
            dropped += 1;
        }
        self.shared.dropped.fetch_add(dropped, Ordering::Relaxed);
    }

    /// Reports an event to the application, when it has room; false if the bus is being closed.
    async fn say(&mut self, what: BusEvent) -> bool {
        tokio::select! {
            told = self.heard.send(what) => told.is_ok(),
            () = closed(&mut self.closing) => false,
        }
    }

    /// Opens a new link; `None` if the bus is being closed.
    async fn open_again(&mut self) -> Option<Link<B::Encoder, B::Decoder>> {
        let Session { broker, heard, closing, delays, .. } = self;
        let attempts = async {
            loop {
                sleep(delays.next_wait()).await;
                // The application knows why the link was lost; further reasons would repeat it.
                if let Ok(link) = remote::open(broker).await {
                    return link;
                }
            }
        };
        tokio::select! {
            link = attempts => Some(link),
            () = closed(closing) => None,
            () = heard.closed() => None,
        }
    }

    /// Writes and reads until the link or the bus ends.
    async fn use_link(&mut self, link: Link<B::Encoder, B::Decoder>) -> End {
        let Link { stream, read, mut encoder, decoder, .. } = link;
        let (read_half, write_half) = stream.into_split();
        let mouth = Mutex::new(write_half);
        let mut ear = ReadSide { stream: read_half, read, decoder };
        let shared = &*self.shared;
        let mut writing = WriteTask { queue: &mut self.queue, batch: &mut self.batch, mouth: &mouth };
        let (mut stop, mut limit) = (self.closing.clone(), self.closing.clone());
        let heard = &self.heard;
        let writing = async {
            let stopped = async {
                tokio::select! {
                    () = closed(&mut stop) => {}
                    () = heard.closed() => {}
                }
            };
            write_all(&mut writing, &mut encoder, stopped).await
        };
        let reading = async {
            if heard.send(BusEvent::Connected).await.is_err() {
                // `writing` notices it too, and closes.
                return std::future::pending().await;
            }
            read_all(&mut ear, &mouth, &EventSink { heard, shared }).await
        };
        let delays = &mut self.delays;
        let steady = async {
            sleep(STEADY_AFTER).await;
            *delays = Delays::default();
            std::future::pending().await
        };
        let too_late = async {
            closed(&mut limit).await;
            sleep(CLOSE_LIMIT).await;
        };
        tokio::select! {
            done = writing => match done {
                Ok(()) => {
                    // The rest is dropped at the time limit.
                    let _ = timeout(CLOSE_LIMIT, await_farewell(&mut ear, &mouth)).await;
                    End::Closed
                }
                Err(why) => End::Lost(why),
            },
            why = reading => End::Lost(why),
            () = too_late => End::Closed,
            end = steady => end,
        }
    }
}

/// Waits until the bus is to be closed, or its last handle is gone.
async fn closed(closing: &mut watch::Receiver<bool>) {
    // An error: the handle is gone, which closes too.
    let _ = closing.wait_for(|closing| *closing).await;
}
