//! Several drivers as one load.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use barograph_engine::EngineHandle;
use barograph_model::{Level, Nanos};
use barograph_probe::ProcessSample;
use barograph_stats::{Histogram, Interval};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};

use super::clock::{Clock, Offset};
use super::gather::Gather;
use super::link::{self, Event, Hearing, Link, Opened};
use super::message::{Command, Facts};
use super::order::{FleetJob, Orders};
use super::{FleetError, Token};
use crate::HarnessError;

/// Events that wait for the run to look at them: four minutes of one-second intervals of a driver.
const EVENTS: usize = 256;

/// How far ahead the common beginning is: drivers must have started their workers by then.
const LEAD: Nanos = Nanos::from_millis(400);

/// Beside the way there and the looks of the workers: what a busy machine may take to hand a command on.
const SPARE: Nanos = Nanos::from_millis(10);

/// However slow a way was once, a change is never put off longer than this.
const LONGEST_AHEAD: Nanos = Nanos::from_secs(1);

/// How long all drivers may take to say that they have started.
const START: Duration = Duration::from_secs(20);

/// Clocks that are known, or agree, less well than this are worth a note.
const WORTH_A_NOTE: Nanos = Nanos::from_millis(1);

/// Where a driver waits for its harness.
#[derive(Clone, Debug)]
pub struct DriverAt {
    /// What it is called in records and messages; unique among the drivers of a run.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// What it was started with.
    pub token: Token,
}

/// What one driver did and used in an interval.
#[derive(Clone, Debug)]
pub struct DriverSample {
    /// Its number, from 0.
    pub driver: usize,
    /// Its name.
    pub name: String,
    /// Counters of its process at the end, by its own clock.
    pub process: ProcessSample,
    /// Connections it had open when they were last counted.
    pub connections: Option<u64>,
    /// Start lag of its operations.
    pub lag: Histogram,
    /// CPU seconds of its busiest worker.
    pub busiest_worker_cpu_s: f64,
}

impl DriverSample {
    pub(super) fn new(driver: usize, name: String, interval: &Interval, facts: &Facts) -> Self {
        DriverSample {
            driver,
            name,
            process: facts.process(),
            connections: facts.connections,
            lag: interval.lag.clone(),
            busiest_worker_cpu_s: interval.busiest_worker_cpu_s,
        }
    }

    /// Adds what the same driver did next.
    pub(crate) fn follow(&mut self, next: &DriverSample) {
        self.process = next.process;
        self.connections = next.connections.or(self.connections);
        self.lag.add(&next.lag).expect("all histograms have the same bounds");
        self.busiest_worker_cpu_s += next.busiest_worker_cpu_s;
    }
}

/// A load by several drivers.
pub struct Fleet {
    /// Its name; empty for the only one of its run.
    load: String,
    clock: Clock,
    /// When the load begins, by our clock.
    origin: Nanos,
    interval: Nanos,
    links: Vec<Link>,
    clocks: Vec<Watched>,
    events: mpsc::Receiver<(usize, Event)>,
    gather: Gather,
    level: Option<Level>,
    ending: bool,
    samples: Vec<DriverSample>,
    notes: Vec<String>,
    /// Of the drivers that have ended.
    counts: Vec<Vec<i64>>,
}

/// A driver's clock since the beginning.
struct Watched {
    /// As it was when the instant of the beginning was worked out.
    first: Offset,
    latest: Offset,
    /// The largest drift that was told, in nanoseconds.
    told: u64,
}

impl Fleet {
    /// Connects to all drivers, makes them ready, and begins the loads in all of them at one instant, which has come when
    /// this is done. No user is active yet.
    ///
    /// # Errors
    /// When a driver cannot be reached, refuses, or cannot load a target.
    pub async fn connect(drivers: &[DriverAt], jobs: &[FleetJob<'_>]) -> Result<Vec<Self>, HarnessError> {
        if drivers.is_empty() {
            return Err(FleetError::NoDriver.into());
        }
        let clock = Clock::start();
        let mut fleets = Vec::new();
        for job in jobs {
            let opened = open_all(drivers, (job, jobs.len()), clock).await?;
            // The same of every load.
            let notes = if fleets.is_empty() { about(&opened, jobs) } else { Vec::new() };
            fleets.push(Fleet::of(opened, (job, clock), notes));
        }
        let slowest = fleets.iter().map(Fleet::slowest).max().unwrap_or_default();
        let origin = clock.now() + LEAD + slowest;
        for fleet in &mut fleets {
            fleet.begin_at(origin)?;
        }
        for fleet in &mut fleets {
            fleet.begun().await?;
        }
        if let Some(origin) = clock.instant(origin) {
            sleep_until(origin.into()).await;
        }
        Ok(fleets)
    }

    /// A load that is ready in all drivers.
    fn of(opened: Vec<Opened>, (job, clock): (&FleetJob<'_>, Clock), notes: Vec<String>) -> Self {
        let (tell, events) = mpsc::channel(EVENTS);
        let (interval, ops) = (job.plan.driver.interval, job.workload.ops().len());
        let (mut links, mut clocks) = (Vec::new(), Vec::new());
        for (driver, opened) in opened.into_iter().enumerate() {
            clocks.push(Watched { first: opened.offset, latest: opened.offset, told: 0 });
            let hearing = Hearing { driver, clock, ops, interval };
            links.push(opened.hear(hearing, tell.clone()));
        }
        let gather = Gather::new(links.len(), interval);
        Fleet {
            load: job.plan.load.clone(),
            clock,
            origin: Nanos::ZERO,
            interval,
            links,
            clocks,
            events,
            gather,
            level: None,
            ending: false,
            samples: Vec::new(),
            notes,
            counts: Vec::new(),
        }
    }

    /// Tells all drivers the instant from which they count.
    fn begin_at(&mut self, origin: Nanos) -> Result<(), FleetError> {
        self.origin = origin;
        for (link, watched) in self.links.iter().zip(&self.clocks) {
            link.say(Command::Start { origin: watched.first.theirs(self.origin).0 })?;
        }
        Ok(())
    }

    /// Waits until all have begun.
    async fn begun(&mut self) -> Result<(), FleetError> {
        match timeout(START, self.all_started()).await {
            Ok(started) => started?,
            Err(_) => {
                let waiting =
                    self.links.iter().find(|link| !self.samples.iter().any(|s| s.name == link.name));
                let driver = waiting.map_or_else(String::new, |link| link.name.clone());
                return Err(FleetError::NoInterval { driver, seconds: START.as_secs() });
            }
        }
        let late = self.now();
        if late > Nanos::ZERO {
            let ms = late.as_secs_f64() * 1e3;
            self.notes.push(format!("the drivers were ready {ms:.0} ms after the load was to begin"));
        }
        Ok(())
    }

    async fn all_started(&mut self) -> Result<(), FleetError> {
        while self.samples.len() < self.links.len() {
            match self.events.recv().await {
                Some((driver, Event::Started(facts))) => {
                    let name = self.links[driver].name.clone();
                    self.samples.push(DriverSample::new(driver, name, &Interval::new(0), &facts));
                }
                Some((_, Event::Lost(why))) => return Err(why),
                Some((driver, event)) => self.hear(driver, event)?,
                None => return Err(FleetError::NoDriver),
            }
        }
        self.samples.sort_by_key(|sample| sample.driver);
        Ok(())
    }

    /// The longest way there and back that was seen lately.
    fn slowest(&self) -> Nanos {
        let longest = self.clocks.iter().map(|watched| watched.latest.longest).max();
        longest.unwrap_or(Nanos::ZERO).min(LONGEST_AHEAD)
    }

    /// Time since the load began.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.clock.now() - self.origin
    }

    /// The level asked for by the latest ramp.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level.unwrap_or_default()
    }

    /// As [`EngineHandle::ramp`], in all drivers from the same instant on: so far ahead that all of them know before.
    ///
    /// # Errors
    /// When a driver takes no commands any more.
    pub async fn ramp(&mut self, level: impl Into<Level>, over: Nanos) -> Result<Nanos, HarnessError> {
        let level = level.into();
        let at = self.now() + self.slowest() + EngineHandle::SOONEST + SPARE;
        for link in &self.links {
            link.say(Command::Ramp { level, over: over.0, at: at.0 })?;
        }
        self.level = Some(level);
        Ok(at + over)
    }

    /// Tells all users to stop and gives operations in flight `drain` to end. Intervals still come.
    pub async fn stop(&mut self, drain: Nanos) {
        self.ending = true;
        for link in &self.links {
            // One that is gone needs no telling; `next` reports it.
            let _ = link.say(Command::Stop { drain: drain.0 });
        }
    }

    /// The next interval, merged over all drivers; `None` after the last. May be dropped and asked again.
    ///
    /// # Errors
    /// When a driver is gone, or its clock ran away: the error names it.
    pub async fn next(&mut self) -> Result<Option<Interval>, HarnessError> {
        loop {
            if let Some(whole) = self.gather.take() {
                self.samples = whole.samples;
                return Ok(Some(whole.interval));
            }
            if self.gather.is_over() {
                return Ok(None);
            }
            match self.events.recv().await {
                Some((driver, event)) => self.hear(driver, event)?,
                None => return Ok(None),
            }
        }
    }

    fn hear(&mut self, driver: usize, event: Event) -> Result<(), FleetError> {
        let name = self.links[driver].name.clone();
        match event {
            Event::Interval(interval, facts) => {
                let sample = DriverSample::new(driver, name, &interval, &facts);
                self.gather.put(driver, *interval, sample);
            }
            Event::Clock(offset) => self.watch(driver, offset)?,
            Event::Late(by) => {
                let ms = by.as_secs_f64() * 1e3;
                self.notes
                    .push(format!("{name} heard of a change of the load {ms:.1} ms after it was to begin"));
            }
            Event::Ended(told, counts) => {
                if !self.ending {
                    return Err(FleetError::EndedEarly { driver: name });
                }
                let of = if self.load.is_empty() { name } else { format!("{name}, load {}", self.load) };
                self.notes.extend(told.iter().map(|line| format!("{of}: failed {line}")));
                self.counts.push(counts);
                self.gather.end(driver);
            }
            Event::Lost(why) => return Err(why),
            // Said before; once is enough.
            Event::Started(_) => {}
        }
        Ok(())
    }

    /// Holds a clock against what it was at the beginning.
    pub(super) fn watch(&mut self, driver: usize, offset: Offset) -> Result<(), FleetError> {
        let (watched, name) = (&mut self.clocks[driver], &self.links[driver].name);
        watched.latest = offset;
        let (least, _) = watched.first.drift_to(&offset);
        // From a quarter of an interval on, what is late besides could make a part fall into the next place.
        if least > self.interval.0 / 4 {
            let (micros, interval_ms) = (least / 1_000, self.interval.0 / 1_000_000);
            return Err(FleetError::Clock { driver: name.clone(), micros, interval_ms });
        }
        if least > WORTH_A_NOTE.0.max(watched.told.saturating_mul(2)) {
            watched.told = least;
            let ms = least as f64 / 1e6;
            let at = self.clock.now().since(self.origin).as_secs_f64();
            self.notes.push(format!(
                "the clock of {name} went away from this machine's by {ms:.1} ms in {at:.0} s: its users begin and its \
                 intervals end by so much earlier or later than those of others"
            ));
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn origin(&self) -> Nanos {
        self.origin
    }

    #[cfg(test)]
    pub(super) fn first_offset(&self, driver: usize) -> Offset {
        self.clocks[driver].first
    }

    /// What each driver did and used in the interval that came last; before the first, what its process used so far.
    #[must_use]
    pub fn samples(&self) -> &[DriverSample] {
        &self.samples
    }

    /// Counts for the data checks, of each driver that has ended since this was last asked.
    pub fn take_counts(&mut self) -> Vec<Vec<i64>> {
        std::mem::take(&mut self.counts)
    }

    /// What a user should know, in sentences, since this was last asked.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

/// Opens all drivers side by side.
async fn open_all(
    drivers: &[DriverAt],
    (job, loads): (&FleetJob<'_>, usize),
    clock: Clock,
) -> Result<Vec<Opened>, FleetError> {
    let Orders { each, bytes } = Orders::new(job, drivers.len())?;
    let bytes = Arc::new(bytes);
    let mut opening = JoinSet::new();
    for (nth, (at, order)) in drivers.iter().zip(each).enumerate() {
        let (at, tool, bytes) = (at.clone(), job.tool.to_owned(), Arc::clone(&bytes));
        opening.spawn(async move { (nth, link::open(at, clock, tool, (order, bytes, loads)).await) });
    }
    let mut all = Vec::new();
    while let Some(opened) = opening.join_next().await {
        // Dropping the set ends the others.
        let (nth, opened) = opened.unwrap_or_else(|bug| std::panic::resume_unwind(bug.into_panic()));
        all.push((nth, opened?));
    }
    all.sort_by_key(|(nth, _)| *nth);
    Ok(all.into_iter().map(|(_, opened)| opened).collect())
}

/// What a user should know of the drivers, in sentences.
fn about(opened: &[Opened], jobs: &[FleetJob<'_>]) -> Vec<String> {
    let workers = jobs.iter().map(|job| job.plan.driver.workers).sum();
    std::iter::once(clocks(opened)).chain(crowded(opened, workers)).collect()
}

/// How well the clocks of the drivers are known.
fn clocks(opened: &[Opened]) -> String {
    let micros = |span: Nanos| span.0 as f64 / 1e3;
    let each: Vec<String> =
        opened.iter().map(|o| format!("{} within {:.0} µs", o.name, micros(o.offset.within))).collect();
    let mut text = format!("the load is made by {} drivers on one clock: {}", opened.len(), each.join(", "));
    if opened.iter().any(|o| o.offset.within > WORTH_A_NOTE) {
        text.push_str("; more than 1 ms is little for windows and much for what must happen at one instant");
    }
    text
}

/// Drivers with more workers than cores, and how many files they may open.
fn crowded(opened: &[Opened], workers: usize) -> Option<String> {
    let few: Vec<String> = opened
        .iter()
        .filter(|o| o.cores < workers)
        .map(|o| format!("{} has {} cores for {workers} workers", o.name, o.cores))
        .collect();
    let files = opened.iter().map(|o| o.open_files).min()?;
    (!few.is_empty()).then(|| format!("{}; every worker may open {files} files at least", few.join(", ")))
}
