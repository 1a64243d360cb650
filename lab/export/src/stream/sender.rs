//! Follows a record and passes its figures to the sending thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use barograph_model::words::count;
use barograph_record::{Entry, Follower, ProbeRow};
use barograph_stats::Interval;
use tokio::sync::{mpsc, watch};

use super::carry::{Carrier, DeliveryCounts};
use super::figures::Figures;
use super::point::Batch;
use super::receiver::Receiver;
use super::tls;
use crate::ExportError;

/// Most waiting batches, one per interval: a receiver may be away for a minute of intervals of a second. Each
/// is some hundred kilobytes at the most.
const QUEUE: usize = 64;

/// Sends the figures of a run in progress to one receiver.
#[derive(Debug)]
pub struct Sender {
    receiver: Receiver,
    figures: Mutex<Figures>,
    /// Figures put into the queue, and those it had no room for.
    asked: AtomicU64,
    overflowed: AtomicU64,
    fate: Arc<DeliveryCounts>,
    leaving: watch::Sender<bool>,
    way: Mutex<SenderThread>,
}

/// Handle of the sending thread; closed when the sender leaves.
#[derive(Debug)]
struct SenderThread {
    queue: Option<mpsc::Sender<Batch>>,
    thread: Option<JoinHandle<()>>,
}

/// Locks a mutex whose contents stay valid after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sender {
    /// Starts the sending thread. The receiver need not be up yet.
    pub fn start(receiver: Receiver) -> Result<Sender, ExportError> {
        let wrong = |why: Box<dyn std::error::Error + Send + Sync>| ExportError::Start {
            receiver: receiver.to_string(),
            why,
        };
        let client = tls::client(receiver.url().starts_with("https:")).map_err(wrong)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|why| wrong(why.into()))?;
        let (queue, batches) = mpsc::channel(QUEUE);
        let (leaving, heard) = watch::channel(false);
        let fate = Arc::new(DeliveryCounts::default());
        let carrier = Carrier { client, receiver: receiver.clone(), fate: Arc::clone(&fate) };
        let thread = std::thread::Builder::new()
            .name("export".to_owned())
            .spawn(move || runtime.block_on(carrier.work(batches, heard)))
            .map_err(|why| wrong(why.into()))?;
        Ok(Sender {
            receiver,
            figures: Mutex::default(),
            asked: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            fate,
            leaving,
            way: Mutex::new(SenderThread { queue: Some(queue), thread: Some(thread) }),
        })
    }

    fn send(&self, batch: Batch) {
        let points = batch.points.len() as u64;
        if points == 0 {
            return;
        }
        self.asked.fetch_add(points, Ordering::Relaxed);
        let taken = lock(&self.way).queue.as_ref().is_some_and(|queue| queue.try_send(batch).is_ok());
        if !taken {
            self.overflowed.fetch_add(points, Ordering::Relaxed);
        }
    }

    /// Summary for the record.
    fn words(&self) -> String {
        let asked = self.asked.load(Ordering::Relaxed);
        let arrived = self.fate.arrived.load(Ordering::Relaxed);
        let refused = self.fate.refused.load(Ordering::Relaxed);
        let overflowed = self.overflowed.load(Ordering::Relaxed);
        let lost = asked.saturating_sub(arrived);
        if lost == 0 {
            return format!("export to {}: {} figures arrived", self.receiver, count(arrived));
        }
        let mut text = format!(
            "export to {}: {} of {} figures did not arrive",
            self.receiver,
            count(lost),
            count(asked)
        );
        for (n, what) in [(refused, "refused"), (overflowed, "dropped from the queue, which was full")] {
            if n > 0 {
                text.push_str(&format!(", {} {what}", count(n)));
            }
        }
        if let Some(why) = self.fate.failure() {
            text.push_str(&format!("; the last failure: {why}"));
        }
        text
    }
}

impl Follower for Sender {
    fn entry(&self, entry: &Entry) {
        lock(&self.figures).entry(entry);
    }

    fn interval(&self, interval: &Interval, names: &[&str]) {
        let batch = lock(&self.figures).interval(interval, names);
        self.send(batch);
    }

    fn probe(&self, row: &ProbeRow) {
        lock(&self.figures).probe(row);
    }

    fn leave(&self) -> Vec<String> {
        let rest = lock(&self.figures).rest();
        self.send(rest);
        let mut way = lock(&self.way);
        way.queue = None;
        self.leaving.send_replace(true);
        if let Some(thread) = way.thread.take() {
            // It ends within seconds. A sender that died has lost its figures, as the count shows.
            let _ = thread.join();
        }
        drop(way);
        vec![self.words()]
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // Without a run nothing waits, so the thread ends at once.
        self.leaving.send_replace(true);
    }
}
