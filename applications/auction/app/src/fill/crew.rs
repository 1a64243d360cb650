//! The threads of a fill: makers of rows and picture files, and one writer per store.

use super::images::Writer;
use super::layout::Layout;
use super::{FillError, Progress, Stage, auctions, store, users};
use barograph_auction_store::{EventBatch, RelationalBatch};
use barograph_data::pictures::Pictures;
use barograph_store_sqlite::{EventFile, RelationalFile};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Users per job: tens of milliseconds of hashing.
const USERS_PER_JOB: u64 = 500;
/// Auctions per job: some hundreds of picture files.
const AUCTIONS_PER_JOB: u64 = 4;
/// Batches that may wait for a store; then makers wait.
const WAITING_BATCHES: usize = 16;

/// Rows of both stores that were made together.
#[derive(Debug, Default)]
pub(super) struct FilledRows {
    pub(super) relational: RelationalBatch,
    pub(super) events: EventBatch,
}

/// A part of the data made by one thread in one step.
#[derive(Debug, Clone)]
enum Job {
    Users(Range<u64>),
    ExtraUsers,
    Auctions(Range<u64>),
}

fn chunks(ids: Range<u64>, each: u64) -> impl Iterator<Item = Range<u64>> {
    let last = ids.end;
    ids.step_by(each as usize).map(move |first| first..(first + each).min(last))
}

fn jobs(layout: &Layout) -> Vec<Job> {
    let mut jobs: Vec<Job> = chunks(1..layout.counts.users + 1, USERS_PER_JOB).map(Job::Users).collect();
    jobs.push(Job::ExtraUsers);
    jobs.extend(chunks(1..layout.auctions() + 1, AUCTIONS_PER_JOB).map(Job::Auctions));
    jobs
}

/// State shared by all makers.
struct CrewState<'a> {
    layout: &'a Layout,
    pictures: &'a Pictures,
    images: &'a Path,
    jobs: Vec<Job>,
    next: AtomicUsize,
    image_bytes: AtomicU64,
    stop: &'a AtomicBool,
    /// Set when a maker fails, so that the others stop.
    failed: AtomicBool,
}

/// Channels from a maker to the writers.
#[derive(Clone)]
struct Outlets {
    relational: Sender<(usize, RelationalBatch)>,
    events: Sender<(usize, EventBatch)>,
    done: Sender<(Stage, u64)>,
}

/// Input of a crew.
pub(super) struct Order<'a> {
    pub(super) layout: &'a Layout,
    pub(super) pictures: &'a Pictures,
    pub(super) stores: &'a Path,
    pub(super) images: &'a Path,
    pub(super) threads: usize,
    pub(super) stop: &'a AtomicBool,
    /// Name of the data set.
    pub(super) stamp: &'a str,
}

/// Makes all data; returns the bytes of the picture files.
pub(super) fn make(order: &Order<'_>, progress: &mut dyn FnMut(Progress)) -> Result<u64, FillError> {
    let work = CrewState {
        layout: order.layout,
        pictures: order.pictures,
        images: order.images,
        jobs: jobs(order.layout),
        next: AtomicUsize::new(0),
        image_bytes: AtomicU64::new(0),
        stop: order.stop,
        failed: AtomicBool::new(false),
    };
    let batches = work.jobs.len();
    let (relational, from_relational) = bounded(WAITING_BATCHES);
    let (events, from_events) = bounded(WAITING_BATCHES);
    let (done, from_done) = bounded(WAITING_BATCHES);
    let results = std::thread::scope(|scope| {
        let (relational_path, events_path) =
            (order.stores.join("relational.db"), order.stores.join("events.db"));
        let outlets = Outlets { relational, events, done };
        let work = &work;
        let mut crew: Vec<_> = (0..order.threads.max(1))
            .map(|_| {
                let outlets = outlets.clone();
                scope.spawn(move || work.run(&outlets))
            })
            .collect();
        drop(outlets);
        let stamp = order.stamp;
        crew.push(scope.spawn(move || {
            let file =
                RelationalFile::create(&relational_path).map_err(FillError::store(&relational_path))?;
            store::write(file, &relational_path, stamp, (batches, &from_relational))
        }));
        crew.push(scope.spawn(move || {
            let file = EventFile::create(&events_path).map_err(FillError::store(&events_path))?;
            store::write(file, &events_path, stamp, (batches, &from_events))
        }));
        report(order.layout, &from_done, progress);
        crew.into_iter().map(|thread| thread.join().expect("makers do not panic")).collect::<Vec<_>>()
    });
    // Threads that stopped because another one failed report that only; the other one reports the reason.
    let failure = results.into_iter().filter_map(Result::err).min_by_key(|e| matches!(e, FillError::Stopped));
    match failure {
        Some(failure) => Err(failure),
        None => Ok(work.image_bytes.into_inner()),
    }
}

/// Adds up the makers' progress until the last one has finished.
fn report(layout: &Layout, from_done: &Receiver<(Stage, u64)>, progress: &mut dyn FnMut(Progress)) {
    let rows = layout.rows();
    let (mut users, mut files) = (0, 0);
    for (stage, count) in from_done {
        let (done, total) = match stage {
            Stage::Users => (&mut users, rows.users),
            Stage::Auctions | Stage::Library | Stage::Stores | Stage::Flush => (&mut files, rows.files),
        };
        *done += count;
        progress(Progress { stage, done: *done, total });
    }
    progress(Progress { stage: Stage::Stores, done: 0, total: 1 });
}

impl CrewState<'_> {
    fn run(&self, outlets: &Outlets) -> Result<(), FillError> {
        let mut writer = Writer::new(self.pictures, self.images, self.layout);
        loop {
            if self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed) {
                return Err(FillError::Stopped);
            }
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(number) else { return Ok(()) };
            let sent = self.make(job, &mut writer).and_then(|(made, done)| outlets.send(number, made, done));
            if sent.is_err() {
                self.failed.store(true, Ordering::Relaxed);
                return sent;
            }
        }
    }

    fn make(&self, job: &Job, writer: &mut Writer<'_>) -> Result<(FilledRows, (Stage, u64)), FillError> {
        let mut made = FilledRows::default();
        let done = match job {
            Job::Users(ids) => {
                made.relational.users = users::numbered(self.layout.streams, ids.clone());
                (Stage::Users, ids.end - ids.start)
            }
            Job::ExtraUsers => {
                made.relational.users = users::extra(self.layout.streams, self.layout.counts.users);
                (Stage::Users, made.relational.users.len() as u64)
            }
            Job::Auctions(ids) => {
                for id in ids.clone() {
                    auctions::add(self.layout, self.layout.place(id), &mut made);
                }
                let mut files = 0;
                for image in &made.events.images {
                    let (written, bytes) = writer.write(image.id as u64)?;
                    files += written;
                    self.image_bytes.fetch_add(bytes, Ordering::Relaxed);
                }
                (Stage::Auctions, files)
            }
        };
        Ok((made, done))
    }
}

impl Outlets {
    /// Sends rows to the stores. A store that has failed takes none and reports its own reason.
    fn send(&self, number: usize, made: FilledRows, done: (Stage, u64)) -> Result<(), FillError> {
        self.relational.send((number, made.relational)).map_err(|_| FillError::Stopped)?;
        self.events.send((number, made.events)).map_err(|_| FillError::Stopped)?;
        self.done.send(done).map_err(|_| FillError::Stopped)
    }
}
