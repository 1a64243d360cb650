//! A driver's control connection, from the order to the last interval.

use std::sync::Arc;
use std::time::Duration;

use barograph_engine::{EngineError, EngineHandle, LoadStart};
use barograph_model::words::in_one_line;
use barograph_model::{Level, Nanos};
use barograph_probe::ProcessProbe;
use barograph_record::ExitCode;
use barograph_stats::Interval;
use barograph_workload::{Workload, Workloads};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::fleet::FleetError;
use crate::fleet::clock::Clock;
use crate::fleet::error::out_of_place;
use crate::fleet::frame::{Frame, FrameKind};
use crate::fleet::message::{self, DriverCommand, DriverMessage, Facts};
use crate::fleet::order::{PartialOrder, ReadyLoad};
use crate::fleet::wire::{Wire, WireError};
use crate::{HarnessError, connections};

/// Heartbeat interval.
const BEAT: Duration = Duration::from_secs(1);

/// Inverse of the share of time that counting connections may take; many connections are counted less often.
const COUNTING: u64 = 100;

/// Largest time until the start of a load.
const FARTHEST: Nanos = Nanos::from_secs(60);

/// Control connection of a driver with the state of its load.
pub(super) struct Session {
    wire: Wire,
    clock: Clock,
    workloads: Workloads,
    stage: Stage,
    own: OwnUsage,
}

/// Progress of the load.
enum Stage {
    /// Waits for an order.
    Idle,
    /// Receives the files.
    Receiving(PartialOrder),
    /// Resolves names.
    Preparing(JoinHandle<Result<ReadyLoad, HarnessError>>),
    /// Waits for the start.
    Ready(Box<ReadyLoad>),
    /// Generates load.
    Running(Box<RunningEngine>),
}

struct RunningEngine {
    engine: EngineHandle,
    workload: Arc<dyn Workload>,
}

/// Event of a load, other than commands.
enum Step {
    Prepared(Result<ReadyLoad, HarnessError>),
    Interval(Result<Option<Interval>, EngineError>),
}

/// Waits for the next event of the load. May be dropped and called again.
async fn step(stage: &mut Stage) -> Step {
    match stage {
        Stage::Preparing(task) => match task.await {
            Ok(prepared) => Step::Prepared(prepared),
            Err(bug) => std::panic::resume_unwind(bug.into_panic()),
        },
        Stage::Running(running) => Step::Interval(running.engine.next().await),
        Stage::Idle | Stage::Receiving(_) | Stage::Ready(_) => std::future::pending().await,
    }
}

impl Session {
    pub(super) fn new(wire: Wire, clock: Clock, workloads: Workloads) -> Result<Self, FleetError> {
        Ok(Session { wire, clock, workloads, stage: Stage::Idle, own: OwnUsage::new()? })
    }

    /// Serves until the load has ended and the harness has received the last message.
    pub(super) async fn run(mut self) -> Result<(), FleetError> {
        let ended = self.lead().await;
        if !matches!(ended, Err(FleetError::Harness(_))) {
            self.wire.part().await;
        }
        ended
    }

    async fn lead(&mut self) -> Result<(), FleetError> {
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                frame = self.wire.next() => {
                    let frame = frame.map_err(FleetError::Harness)?;
                    self.obey(frame).await?;
                }
                step = step(&mut self.stage) => match step {
                    Step::Prepared(prepared) => self.prepared(prepared).await?,
                    Step::Interval(Ok(Some(interval))) => {
                        self.tell_gauges().await?;
                        let facts = self.own.facts(&self.clock)?;
                        self.send(FrameKind::Interval, &message::interval_body(&interval, &facts)).await?;
                    }
                    Step::Interval(Ok(None)) => return self.over().await,
                    Step::Interval(Err(why)) => return Err(self.failed(&why).await),
                },
                _ = beat.tick() => self.status().await?,
            }
        }
    }

    async fn say(&mut self, said: &DriverMessage) -> Result<(), FleetError> {
        self.wire.say(said).await.map_err(FleetError::Harness)
    }

    async fn send(&mut self, kind: FrameKind, body: &[u8]) -> Result<(), FleetError> {
        self.wire.send(kind, body).await.map_err(FleetError::Harness)
    }

    async fn status(&mut self) -> Result<(), FleetError> {
        let (level, at) = match &self.stage {
            Stage::Running(running) => (running.engine.level(), running.engine.now()),
            _ => (Level::ZERO, Nanos::ZERO),
        };
        self.say(&DriverMessage::Status { level, at: at.0 }).await
    }

    /// Sends the figures of the load since the last interval.
    async fn tell_gauges(&mut self) -> Result<(), FleetError> {
        let Stage::Running(running) = &self.stage else { return Ok(()) };
        let gauges: Vec<_> = running.workload.gauges().into_iter().map(Into::into).collect();
        if gauges.is_empty() { Ok(()) } else { self.say(&DriverMessage::Gauges { gauges }).await }
    }

    async fn over(&mut self) -> Result<(), FleetError> {
        let (told, counts) = match &self.stage {
            Stage::Running(running) => {
                let told = running.workload.failure_reasons().iter().map(ToString::to_string).collect();
                (told, running.workload.counts())
            }
            _ => Default::default(),
        };
        self.say(&DriverMessage::Ended { told, counts }).await
    }

    /// Reports that the engine failed.
    async fn failed(&mut self, why: &EngineError) -> FleetError {
        let why = in_one_line(why);
        // If the report cannot be delivered, the harness sees a closed connection.
        let _ = self.say(&DriverMessage::Failed { why: why.clone() }).await;
        FleetError::Failed { driver: "this driver".to_owned(), why }
    }

    async fn obey(&mut self, frame: Frame) -> Result<(), FleetError> {
        match frame.kind {
            FrameKind::Piece => return self.piece(&frame.body),
            FrameKind::Interval => return Err(nonsense("an interval for a driver")),
            FrameKind::Message => {}
        }
        let command =
            message::read(&frame.body).map_err(|why| FleetError::Harness(WireError::Nonsense(why)))?;
        match command {
            // Answered at once: the delay is the uncertainty of the measured clock.
            DriverCommand::Ping { n } => {
                let at = self.clock.now().0;
                self.say(&DriverMessage::Pong { n, at }).await
            }
            DriverCommand::Status => self.status().await,
            DriverCommand::Hello { .. } => Err(nonsense("a second greeting")),
            DriverCommand::Prepare { order } => {
                let Stage::Idle = self.stage else { return Err(nonsense("a second order")) };
                let receipt =
                    PartialOrder::new(order).ok_or_else(|| nonsense("an order that asks for too much"))?;
                self.receive(receipt);
                Ok(())
            }
            DriverCommand::Start { origin } => self.start(Nanos(origin)).await,
            DriverCommand::Ramp { level, over, at } => self.ramp(level, Nanos(over), Nanos(at)).await,
            DriverCommand::Stop { drain } => {
                let Stage::Running(running) = &mut self.stage else {
                    return Err(nonsense("an end before a beginning"));
                };
                running.engine.stop(Nanos(drain)).await;
                Ok(())
            }
        }
    }

    fn piece(&mut self, piece: &[u8]) -> Result<(), FleetError> {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Receiving(mut receipt) => {
                if !receipt.take(piece) {
                    return Err(nonsense("more bytes of files than were announced"));
                }
                self.receive(receipt);
                Ok(())
            }
            _ => Err(nonsense("bytes of a file that was not announced")),
        }
    }

    /// Waits for more bytes or, if the order is complete, prepares the load on another thread, so that pings
    /// are still answered.
    fn receive(&mut self, receipt: PartialOrder) {
        self.stage = if receipt.is_whole() {
            let workloads = self.workloads;
            Stage::Preparing(tokio::task::spawn_blocking(move || receipt.ready(workloads)))
        } else {
            Stage::Receiving(receipt)
        };
    }

    async fn prepared(&mut self, prepared: Result<ReadyLoad, HarnessError>) -> Result<(), FleetError> {
        match prepared {
            Ok(ready) => {
                self.stage = Stage::Ready(Box::new(ready));
                self.say(&DriverMessage::Prepared).await
            }
            Err(why) => self.refused(in_one_line(&why), why.exit_code()).await,
        }
    }

    async fn refused(&mut self, why: String, exit: ExitCode) -> Result<(), FleetError> {
        self.say(&DriverMessage::Refused { why: why.clone(), exit: exit.code() }).await?;
        Err(FleetError::Refused { driver: "this driver".to_owned(), why, exit })
    }

    async fn start(&mut self, origin: Nanos) -> Result<(), FleetError> {
        let Stage::Ready(ready) = std::mem::replace(&mut self.stage, Stage::Idle) else {
            return Err(nonsense("a beginning without an order"));
        };
        let instant = self.clock.instant(origin).filter(|_| origin - self.clock.now() <= FARTHEST);
        let instant = instant.ok_or_else(|| nonsense("a beginning far in the future"))?;
        let ReadyLoad { workload, load, settings, place } = *ready;
        match load.begin(&settings, LoadStart { origin: Some(instant), place: Some(place) }) {
            Ok(engine) => {
                self.stage = Stage::Running(Box::new(RunningEngine { engine, workload }));
                let facts = self.own.facts(&self.clock)?;
                self.say(&DriverMessage::Started { facts }).await
            }
            Err(why) => self.refused(in_one_line(&why), ExitCode::PlatformFault).await,
        }
    }

    async fn ramp(&mut self, level: Level, over: Nanos, at: Nanos) -> Result<(), FleetError> {
        let Stage::Running(running) = &mut self.stage else {
            return Err(nonsense("users before a beginning"));
        };
        let by = running.engine.now() - at;
        // The engine's next interval reports a worker that has ended.
        let _ = running.engine.ramp_at(level, over, at).await;
        if by > Nanos::ZERO {
            return self.say(&DriverMessage::Late { by: by.0 }).await;
        }
        Ok(())
    }
}

fn nonsense(what: &'static str) -> FleetError {
    FleetError::Harness(out_of_place(what))
}

/// Resource use of this process.
struct OwnUsage {
    probe: ProcessProbe,
    connections: Option<u64>,
    counting: Option<JoinHandle<(Option<u64>, Nanos)>>,
    /// By the driver's clock.
    next_count: Nanos,
}

impl OwnUsage {
    fn new() -> Result<Self, FleetError> {
        let probe = ProcessProbe::of_this_process().map_err(FleetError::Probe)?;
        Ok(OwnUsage { probe, connections: None, counting: None, next_count: Nanos::ZERO })
    }

    fn facts(&mut self, clock: &Clock) -> Result<Facts, FleetError> {
        self.count(clock);
        let mut sample = self.probe.sample(clock.now()).map_err(FleetError::Probe)?;
        // A sample of the process shows only the table of its first thread.
        sample.open_files = connections::files();
        Ok(Facts::of(&sample, self.connections))
    }

    /// Counts connections on another thread, as tens of thousands take tens of milliseconds.
    fn count(&mut self, clock: &Clock) {
        let now = clock.now();
        if let Some(task) = self.counting.take_if(|task| task.is_finished()) {
            // The task has ended, so this does not wait.
            if let Some(Ok((connections, took))) = futures_now(task) {
                self.connections = connections;
                self.next_count = now + Nanos(took.0.saturating_mul(COUNTING));
            }
        }
        if self.counting.is_none() && now >= self.next_count {
            let clock = *clock;
            self.counting = Some(tokio::task::spawn_blocking(move || {
                let began = clock.now();
                (connections::open(), clock.now() - began)
            }));
        }
    }
}

/// Output of a task that has ended; `None` while it runs.
fn futures_now<T>(mut task: JoinHandle<T>) -> Option<Result<T, tokio::task::JoinError>> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(&mut task).poll(&mut context) {
        std::task::Poll::Ready(done) => Some(done),
        std::task::Poll::Pending => None,
    }
}
