//! Order of a load for a driver: the plan, the decisions about it, and the bytes of the files it names.
//!
//! A driver's host need not share folders with the harness, so files are sent as bytes.

use std::path::PathBuf;
use std::sync::Arc;

use barograph_engine::{Runnable, Settings, WorkerShare};
use barograph_model::{Arrivals, Nanos, OpenLoop, StartOf};
use barograph_spec::{Plan, Refusal, Refusals, Setting};
use barograph_workload::{Application, DataSet, LoadJob, SentFile, Workload, Workloads};
use serde::{Deserialize, Serialize};

use super::FleetError;
use crate::{HarnessError, deploy};

/// Limit for the bytes of all files together: the limit of a scenario and of a trace.
pub(super) const MOST_BYTES: u64 = (1 << 30) + (256 << 20);

/// Largest number of files.
const MOST_FILES: usize = 1_024;

/// A load for several drivers.
pub struct FleetJob<'j> {
    /// The workload.
    pub workload: &'j dyn Workload,
    /// The plan with nothing left open. `driver.workers` is the number of workers of each driver.
    pub plan: &'j Plan,
    /// URL of the target as seen by the drivers.
    pub url: &'j str,
    /// Data set of the application, if the run deploys it.
    pub data: Option<&'j DataSet>,
    /// Arrivals from outside.
    pub open: Option<&'j OpenLoop>,
    /// Files of the workload, in the order that the driver's program expects.
    pub files: Vec<SentFile>,
    /// Version of this program; drivers must have the same.
    pub tool: &'j str,
}

/// Share of one driver in a load, without the bytes of its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Order {
    name: String,
    plan: String,
    /// Seed of the users.
    seed: u64,
    /// Keys of the plan that were decided, with their values as TOML.
    decided: Vec<(String, String)>,
    url: String,
    workers: usize,
    first_worker: usize,
    total_workers: usize,
    /// Stamp of the data set. A driver that computes another one uses other data.
    stamp: Option<String>,
    open: Option<OpenLoopOrder>,
    files: Vec<FileEntry>,
    /// Bytes of the arrivals of a trace, which follow those of the files.
    trace_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct FileEntry {
    path: PathBuf,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OpenLoopOrder {
    arrivals: ArrivalKind,
    sessions: bool,
    most_users: u32,
    most_waiting: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ArrivalKind {
    Constant,
    Poisson,
    Trace,
}

/// Orders for the drivers of a load: one for each, and the bytes they share.
pub(super) struct Orders {
    pub(super) each: Vec<Order>,
    pub(super) bytes: Vec<Arc<[u8]>>,
}

impl Orders {
    /// Divides the workers among the drivers.
    pub(super) fn new(job: &FleetJob<'_>, drivers: usize) -> Result<Self, FleetError> {
        let named = |file: &SentFile| FileEntry { path: file.0.clone(), bytes: file.1.len() as u64 };
        let files: Vec<FileEntry> = job.files.iter().map(named).collect();
        let mut bytes: Vec<Arc<[u8]>> = job.files.iter().map(|file| Arc::clone(&file.1)).collect();
        let trace = job.open.map_or_else(Vec::new, trace);
        let trace_bytes = trace.len() as u64;
        bytes.push(trace.into());
        let all = bytes.iter().map(|b| b.len() as u64).sum();
        if all > MOST_BYTES || files.len() > MOST_FILES {
            return Err(FleetError::TooMuch { bytes: all, most: MOST_BYTES });
        }
        let workers = job.plan.driver.workers;
        let order = |nth: usize| Order {
            name: job.plan.name.clone(),
            plan: job.plan.resolved.clone(),
            seed: job.plan.seed_of_users(),
            decided: decided(job.plan),
            url: job.url.to_owned(),
            workers,
            first_worker: nth * workers,
            total_workers: drivers * workers,
            stamp: job.data.map(|data| data.stamp.clone()),
            open: job.open.map(opened),
            files: files.clone(),
            trace_bytes,
        };
        Ok(Orders { each: (0..drivers).map(order).collect(), bytes })
    }
}

/// Decisions of the harness that a driver must follow.
fn decided(plan: &Plan) -> Vec<(String, String)> {
    let driver = &plan.driver;
    let size = &plan.data.size;
    let all = [
        ("profile", format!("{:?}", plan.profile)),
        ("driver.connections", format!("{:?}", driver.connections.name())),
        ("driver.workers", driver.workers.to_string()),
        ("driver.realtime", driver.realtime.to_string()),
    ];
    let size = (!size.is_empty()).then(|| ("data.size", format!("{size:?}")));
    all.into_iter().chain(size).map(|(key, value)| (key.to_owned(), value)).collect()
}

fn opened(open: &OpenLoop) -> OpenLoopOrder {
    OpenLoopOrder {
        arrivals: match open.arrivals {
            Arrivals::Constant => ArrivalKind::Constant,
            Arrivals::Poisson => ArrivalKind::Poisson,
            Arrivals::Trace(_) => ArrivalKind::Trace,
        },
        sessions: open.start_of == StartOf::Session,
        most_users: open.most_users,
        most_waiting: open.most_waiting,
    }
}

/// Arrivals of a trace, eight bytes each.
fn trace(open: &OpenLoop) -> Vec<u8> {
    match &open.arrivals {
        Arrivals::Trace(instants) => instants.iter().flat_map(|at| at.0.to_le_bytes()).collect(),
        Arrivals::Constant | Arrivals::Poisson => Vec::new(),
    }
}

/// An order whose bytes arrive in pieces.
pub(super) struct PartialOrder {
    order: Box<Order>,
    got: Vec<Vec<u8>>,
}

impl PartialOrder {
    /// Starts a receipt; `None` if the announced size exceeds the limit.
    pub(super) fn new(order: Box<Order>) -> Option<Self> {
        let sum = order.files.iter().try_fold(order.trace_bytes, |sum, file| sum.checked_add(file.bytes))?;
        let fits =
            sum <= MOST_BYTES && order.files.len() <= MOST_FILES && order.trace_bytes.is_multiple_of(8);
        // Each worker is a thread.
        let sensible = (1..=256).contains(&order.workers)
            && order.first_worker.checked_add(order.workers).is_some_and(|end| end <= order.total_workers);
        (fits && sensible).then(|| PartialOrder { order, got: vec![Vec::new()] })
    }

    fn announced(&self, nth: usize) -> u64 {
        self.order.files.get(nth).map_or(self.order.trace_bytes, |file| file.bytes)
    }

    /// Takes the next bytes; returns false if they exceed the announced size. Files follow each other without
    /// gaps.
    pub(super) fn take(&mut self, mut piece: &[u8]) -> bool {
        loop {
            let nth = self.got.len() - 1;
            let room = self.announced(nth) - self.got[nth].len() as u64;
            let fits = usize::try_from(room).unwrap_or(usize::MAX).min(piece.len());
            let (taken, rest) = piece.split_at(fits);
            self.got[nth].extend_from_slice(taken);
            piece = rest;
            if piece.is_empty() {
                return true;
            }
            if nth == self.order.files.len() {
                return false;
            }
            self.got.push(Vec::new());
        }
    }

    /// Whether all announced bytes have arrived.
    pub(super) fn is_whole(&self) -> bool {
        let announced: u64 = (0..=self.order.files.len()).map(|nth| self.announced(nth)).sum();
        self.got.iter().map(|bytes| bytes.len() as u64).sum::<u64>() == announced
    }

    /// Prepares the load, which blocks while names are resolved and the target is reached. The plan's target
    /// is one that exists already, at the URL sent by the harness.
    pub(super) fn ready(self, workloads: Workloads) -> Result<ReadyLoad, HarnessError> {
        let PartialOrder { order, mut got } = self;
        got.resize_with(order.files.len() + 1, Vec::new);
        let trace = got.pop().unwrap_or_default();
        let setting = |(key, value): &(String, String)| Setting {
            key: key.clone(),
            value: value.clone(),
            place: order.name.clone(),
        };
        let decided: Vec<Setting> = order.decided.iter().map(setting).collect();
        let mut plan = workloads.read_with(&order.name, &order.plan, &decided, &[])?;
        plan.target.url = Some(order.url.clone());
        let files: Vec<SentFile> =
            order.files.iter().map(|file| file.path.clone()).zip(got.into_iter().map(Arc::from)).collect();
        let workload = workloads.of_files(&plan, &files)?;
        // Files can be large.
        drop(files);
        let data =
            order.stamp.as_ref().map(|stamp| data_called(stamp, workload.as_ref(), &plan)).transpose()?;
        let load = workload.load(&LoadJob { url: &order.url, plan: &plan, data: data.as_ref() })?;
        let open = order.open.map(|open| open.with(&trace));
        let settings = settings(workload.as_ref(), &plan, open).ok_or_else(|| unknown_profile(&plan))?;
        let settings = Settings { seed: order.seed, ..settings };
        let place = WorkerShare { first: order.first_worker, total: order.total_workers };
        Ok(ReadyLoad { workload, load, settings, place })
    }
}

impl OpenLoopOrder {
    fn with(self, trace: &[u8]) -> OpenLoop {
        let instants = || trace.as_chunks::<8>().0.iter().map(|at| Nanos(u64::from_le_bytes(*at))).collect();
        OpenLoop {
            arrivals: match self.arrivals {
                ArrivalKind::Constant => Arrivals::Constant,
                ArrivalKind::Poisson => Arrivals::Poisson,
                ArrivalKind::Trace => Arrivals::Trace(instants()),
            },
            start_of: if self.sessions { StartOf::Session } else { StartOf::Operation },
            most_users: self.most_users,
            most_waiting: self.most_waiting,
        }
    }
}

/// A prepared load.
pub(super) struct ReadyLoad {
    pub(super) workload: Arc<dyn Workload>,
    pub(super) load: Box<dyn Runnable>,
    pub(super) settings: Settings,
    pub(super) place: WorkerShare,
}

/// Data set of the plan; an error if its stamp differs from the harness's.
fn data_called(stamp: &str, workload: &dyn Workload, plan: &Plan) -> Result<DataSet, HarnessError> {
    let refused = |wrong: Refusal| HarnessError::Refused(Refusals(vec![wrong]));
    let sets = workload.application().and_then(Application::data_sets).ok_or(HarnessError::NoData)?;
    let data = sets.data(&plan.data, plan.seed).map_err(refused)?;
    if data.stamp == stamp {
        return Ok(data);
    }
    Err(refused(Refusal {
        place: plan.name.clone(),
        key: "data.size".to_owned(),
        value: format!("{} for the harness, {} for this driver", stamp, data.stamp),
        allowed: "the same data for both".to_owned(),
        remedy: "start drivers with the very program the harness is".to_owned(),
    }))
}

fn unknown_profile(plan: &Plan) -> HarnessError {
    HarnessError::Refused(Refusals(vec![Refusal {
        place: plan.place("profile").to_owned(),
        key: "profile".to_owned(),
        value: format!("{:?}", plan.profile),
        allowed: "a profile of the workload".to_owned(),
        remedy: "start drivers with the very program the harness is".to_owned(),
    }]))
}

/// Settings of the engine for a plan; `None` if the workload has no such profile.
pub(crate) fn settings(workload: &dyn Workload, plan: &Plan, open: Option<OpenLoop>) -> Option<Settings> {
    let profile = workload.profile(&plan.profile)?;
    Some(Settings {
        workers: plan.driver.workers,
        seed: plan.seed_of_users(),
        behaviours: Arc::new(workload.behaviours(&plan.profile)?),
        limits: profile.time_limits(workload.ops().len()),
        interval: plan.driver.interval,
        timeout: workload.timeout().map_or(plan.driver.timeout, |limit| limit.min(plan.driver.timeout)),
        pause_after_failure: plan.driver.failure_pause,
        realtime: plan.driver.realtime,
        cores: deploy::cores_of_own_driver(plan).numbers().to_vec(),
        poll: plan.driver.poll,
        open,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn order(files: &[u64], trace_bytes: u64) -> Box<Order> {
        Box::new(Order {
            name: "test".to_owned(),
            plan: String::new(),
            seed: 1,
            decided: Vec::new(),
            url: "http://127.0.0.1:1".to_owned(),
            workers: 2,
            first_worker: 2,
            total_workers: 4,
            stamp: None,
            open: None,
            files: files.iter().map(|bytes| FileEntry { path: PathBuf::from("f"), bytes: *bytes }).collect(),
            trace_bytes,
        })
    }

    #[test]
    fn an_order_that_asks_for_too_much_is_not_begun() {
        assert!(PartialOrder::new(order(&[MOST_BYTES - 8], 8)).is_some());
        assert!(PartialOrder::new(order(&[MOST_BYTES], 8)).is_none());
        assert!(PartialOrder::new(order(&[u64::MAX, 2], 0)).is_none());
        assert!(PartialOrder::new(order(&[], 7)).is_none(), "a trace is made of whole instants");
        let no_workers = Box::new(Order { workers: 0, ..*order(&[], 0) });
        assert!(PartialOrder::new(no_workers).is_none());
        let beyond = Box::new(Order { first_worker: 3, ..*order(&[], 0) });
        assert!(PartialOrder::new(beyond).is_none());
    }

    #[test]
    fn a_trace_comes_back_to_the_nanosecond() {
        let instants = [0, 1, u64::MAX].map(Nanos);
        let open = OpenLoop {
            arrivals: Arrivals::Trace(instants.into()),
            start_of: StartOf::Session,
            most_users: 7,
            most_waiting: 9,
        };
        assert_eq!(opened(&open).with(&trace(&open)), open);
        let poisson = OpenLoop { arrivals: Arrivals::Poisson, start_of: StartOf::Operation, ..open };
        assert_eq!(opened(&poisson).with(&trace(&poisson)), poisson);
    }

    proptest! {
        #[test]
        fn files_are_what_they_were_however_they_are_cut(
            files in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..5),
            piece in 1_usize..30,
        ) {
            let lengths: Vec<u64> = files.iter().map(|f| f.len() as u64).collect();
            let mut receipt = PartialOrder::new(order(&lengths, 8)).unwrap();
            let bytes: Vec<u8> = files.iter().flatten().copied().chain([1; 8]).collect();
            for piece in bytes.chunks(piece) {
                prop_assert!(!receipt.is_whole());
                prop_assert!(receipt.take(piece));
            }
            prop_assert!(receipt.is_whole());
            prop_assert_eq!(&receipt.got[..files.len()], &files[..]);
            prop_assert!(!receipt.take(&[0]), "more than was announced");
        }
    }
}
