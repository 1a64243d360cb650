//! The harness's end of one driver: greeting, clock, order, and then a task that reads messages until the
//! end.

use std::sync::Arc;
use std::time::Duration;

use barograph_model::Nanos;
use barograph_record::ExitCode;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval_at, sleep_until, timeout};

use super::FleetError;
use super::clock::{Clock, Offset, PINGS};
use super::error::{exit_code, of, out_of_place};
use super::frame::{self, Frame, FrameKind};
use super::message::{self, DriverCommand, DriverMessage, Facts, NamedGauge, PROTOCOL};
use super::order::Order;
use super::several::DriverAddress;
use super::wire::{Wire, WireError};

/// Time after which a silent driver counts as gone; it sends a message every second.
pub(super) const SILENCE: Duration = Duration::from_secs(5);

/// Time in which a driver must accept a connection; it was ready before.
const CONNECT: Duration = Duration::from_secs(5);

/// Interval between clock measurements.
const CLOCK_EVERY: Duration = Duration::from_secs(10);

/// Bound of the queue of commands.
const COMMANDS: usize = 64;

/// A driver that is prepared and has not begun.
pub(super) struct ReadyDriver {
    pub(super) name: String,
    wire: Wire,
    pub(super) offset: Offset,
    /// Cores of its host, as it reported.
    pub(super) cores: usize,
    pub(super) open_files: u64,
}

/// A driver at work.
pub(super) struct Link {
    pub(super) name: String,
    commands: mpsc::Sender<DriverCommand>,
    task: JoinHandle<()>,
}

impl Drop for Link {
    fn drop(&mut self) {
        // The driver sees the closed connection and ends.
        self.task.abort();
    }
}

/// Event of a driver's task.
pub(super) enum Event {
    /// Its workers run; figures of its process so far.
    Started(Facts),
    /// An interval has ended. It stays encoded in the queue, where its histograms would take much memory.
    Interval(Vec<u8>),
    /// Figures of its load in the interval that follows.
    Gauges(Vec<NamedGauge>),
    /// Its clock was measured.
    Clock(Offset),
    /// It received a change too late, by this time.
    Late(Nanos),
    /// Its last interval was before this. What failed operations saw, and counts for the data checks.
    Ended(Vec<String>, Vec<i64>),
    /// Nothing more comes of it.
    Lost(FleetError),
}

/// Connects to a driver and prepares it. Drivers are opened side by side, so that all resolve names at the
/// same time.
pub(super) async fn open(
    at: DriverAddress,
    clock: Clock,
    tool: String,
    (order, bytes, loads): (Order, Arc<Vec<Arc<[u8]>>>, usize),
) -> Result<ReadyDriver, FleetError> {
    let name = at.name.clone();
    let failed = |why| FleetError::Connect { driver: at.name.clone(), address: at.address, why };
    let connected = timeout(CONNECT, TcpStream::connect(at.address)).await;
    let stream = connected.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into())).map_err(failed)?;
    let wire = Wire::new(stream, frame::LONGEST, SILENCE).map_err(failed)?;
    let mut opening = DriverConnection { name, wire };
    let hello = DriverCommand::Hello {
        protocol: PROTOCOL,
        tool: tool.clone(),
        token: at.token.word().to_owned(),
        loads,
    };
    opening.say(&hello).await?;
    let (cores, open_files) = match opening.hear().await? {
        DriverMessage::Welcome { protocol, tool: its, cores, open_files } => {
            if protocol != PROTOCOL || its != tool {
                return Err(opening.refused(format!("it is {its}, and this is {tool}")));
            }
            (cores, open_files)
        }
        _ => return Err(opening.nonsense("an answer that is no welcome")),
    };
    opening.order(order, &bytes).await?;
    // Last, so that the measurement is recent when the load begins.
    let offset = opening.measure(clock).await?;
    Ok(ReadyDriver { name: opening.name, wire: opening.wire, offset, cores, open_files })
}

struct DriverConnection {
    name: String,
    wire: Wire,
}

impl DriverConnection {
    fn refused(&self, why: String) -> FleetError {
        FleetError::Refused { driver: self.name.clone(), why, exit: ExitCode::Refused }
    }

    fn nonsense(&self, what: &'static str) -> FleetError {
        of(&self.name)(out_of_place(what))
    }

    async fn say(&mut self, command: &DriverCommand) -> Result<(), FleetError> {
        self.wire.say(command).await.map_err(of(&self.name))
    }

    /// Waits for the next reply; heartbeats are skipped.
    async fn hear(&mut self) -> Result<DriverMessage, FleetError> {
        loop {
            let frame = self.wire.next().await.map_err(of(&self.name))?;
            match said(&frame).map_err(of(&self.name))? {
                DriverMessage::Status { .. } => {}
                DriverMessage::Refused { why, exit } => {
                    let exit = exit_code(exit);
                    return Err(FleetError::Refused { driver: self.name.clone(), why, exit });
                }
                other => return Ok(other),
            }
        }
    }

    async fn order(&mut self, order: Order, bytes: &[Arc<[u8]>]) -> Result<(), FleetError> {
        self.say(&DriverCommand::Prepare { order: Box::new(order) }).await?;
        for piece in bytes.iter().flat_map(|file| file.chunks(frame::PIECE)) {
            self.wire.send(FrameKind::Piece, piece).await.map_err(of(&self.name))?;
        }
        match self.hear().await? {
            DriverMessage::Prepared => Ok(()),
            _ => Err(self.nonsense("an answer to something else than the order")),
        }
    }

    async fn measure(&mut self, clock: Clock) -> Result<Offset, FleetError> {
        let mut round = Round::new(clock);
        loop {
            self.say(&round.ping()).await?;
            let DriverMessage::Pong { n, at } = self.hear().await? else {
                return Err(self.nonsense("an answer to something else than a ping"));
            };
            if let Some(offset) = round.pong(n, Nanos(at)) {
                return Ok(offset);
            }
        }
    }
}

/// Several pings in a row.
struct Round {
    clock: Clock,
    n: u64,
    left: u32,
    asked: Nanos,
    best: Option<Offset>,
}

impl Round {
    fn new(clock: Clock) -> Self {
        Round { clock, n: 0, left: PINGS, asked: Nanos::ZERO, best: None }
    }

    fn ping(&mut self) -> DriverCommand {
        self.n += 1;
        self.asked = self.clock.now();
        DriverCommand::Ping { n: self.n }
    }

    /// Takes an answer. Returns the best offset after the last one, `None` before.
    fn pong(&mut self, n: u64, theirs: Nanos) -> Option<Offset> {
        let answered = self.clock.now();
        if n != self.n {
            return None;
        }
        let one = Offset::of(self.asked, theirs, answered);
        self.best = Some(self.best.map_or(one, |best| best.or(one)));
        self.left = self.left.saturating_sub(1);
        self.best.filter(|_| self.left == 0)
    }
}

fn said(frame: &Frame) -> Result<DriverMessage, WireError> {
    match frame.kind {
        FrameKind::Message => Ok(message::read(&frame.body)?),
        FrameKind::Interval | FrameKind::Piece => Err(out_of_place("something else than an answer")),
    }
}

/// Parameters of a driver's task.
#[derive(Clone, Copy)]
pub(super) struct ReaderContext {
    pub(super) driver: usize,
    pub(super) clock: Clock,
    /// Length of an interval.
    pub(super) interval: Nanos,
}

impl ReadyDriver {
    /// Starts the task, which sends its events to `events`.
    pub(super) fn hear(self, hearing: ReaderContext, events: mpsc::Sender<(usize, Event)>) -> Link {
        let (commands, orders) = mpsc::channel(COMMANDS);
        let ear = DriverReader { name: self.name.clone(), wire: self.wire, hearing, events };
        Link { name: self.name, commands, task: tokio::spawn(ear.listen(orders)) }
    }
}

impl Link {
    /// Queues a command. Fails if the queue is full.
    pub(super) fn say(&self, command: DriverCommand) -> Result<(), FleetError> {
        self.commands.try_send(command).map_err(|_| of(&self.name)(WireError::Silent(SILENCE)))
    }
}

struct DriverReader {
    name: String,
    wire: Wire,
    hearing: ReaderContext,
    events: mpsc::Sender<(usize, Event)>,
}

/// Action after a message.
enum AfterMessage {
    GoOn,
    /// An interval was received.
    Interval,
    /// The driver said that it ends.
    Ended,
}

impl DriverReader {
    async fn listen(mut self, orders: mpsc::Receiver<DriverCommand>) {
        if let Err(why) = self.hear_all(orders).await {
            self.tell(Event::Lost(why)).await;
        }
        // Closes the connection, too.
    }

    async fn tell(&self, event: Event) {
        // The receiver is gone once the run has ended.
        let _ = self.events.send((self.hearing.driver, event)).await;
    }

    async fn hear_all(&mut self, mut orders: mpsc::Receiver<DriverCommand>) -> Result<(), FleetError> {
        let clock = self.hearing.clock;
        let mut measuring = interval_at(tokio::time::Instant::now() + CLOCK_EVERY, CLOCK_EVERY);
        measuring.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut round: Option<Round> = None;
        let patience = SILENCE + Duration::from(self.hearing.interval) * 2;
        // Nothing is due before the load begins.
        let mut due: Option<Instant> = None;
        let end_of_time = tokio::time::Instant::now() + Duration::from_secs(1 << 30);
        loop {
            tokio::select! {
                biased;
                frame = self.wire.next() => {
                    let frame = frame.map_err(of(&self.name))?;
                    match self.take(frame, &mut round).await? {
                        AfterMessage::GoOn => {}
                        AfterMessage::Interval => due = Some(tokio::time::Instant::now() + patience),
                        AfterMessage::Ended => return Ok(()),
                    }
                }
                command = orders.recv() => {
                    let Some(command) = command else { return Ok(()) };
                    if let DriverCommand::Ramp { .. } = command {
                        due.get_or_insert(tokio::time::Instant::now() + patience);
                    }
                    self.wire.say(&command).await.map_err(of(&self.name))?;
                }
                _ = measuring.tick(), if round.is_none() => {
                    let ping = round.insert(Round::new(clock)).ping();
                    self.wire.say(&ping).await.map_err(of(&self.name))?;
                }
                () = sleep_until(due.unwrap_or(end_of_time)) => {
                    let driver = self.name.clone();
                    return Err(FleetError::NoInterval { driver, seconds: patience.as_secs() });
                }
            }
        }
    }

    async fn take(&mut self, frame: Frame, round: &mut Option<Round>) -> Result<AfterMessage, FleetError> {
        if frame.kind == FrameKind::Interval {
            self.tell(Event::Interval(frame.body)).await;
            return Ok(AfterMessage::Interval);
        }
        let driver = || self.name.clone();
        match said(&frame).map_err(of(&self.name))? {
            DriverMessage::Pong { n, at } => {
                let best = round.as_mut().and_then(|round| round.pong(n, Nanos(at)));
                if let Some(offset) = best {
                    *round = None;
                    self.tell(Event::Clock(offset)).await;
                } else if let Some(round) = round {
                    let ping = round.ping();
                    self.wire.say(&ping).await.map_err(of(&self.name))?;
                }
            }
            DriverMessage::Started { facts } => self.tell(Event::Started(facts)).await,
            DriverMessage::Gauges { gauges } => self.tell(Event::Gauges(gauges)).await,
            DriverMessage::Late { by } => self.tell(Event::Late(Nanos(by))).await,
            DriverMessage::Ended { told, counts } => {
                self.tell(Event::Ended(told, counts)).await;
                return Ok(AfterMessage::Ended);
            }
            DriverMessage::Failed { why } => return Err(FleetError::Failed { driver: driver(), why }),
            DriverMessage::Refused { why, exit } => {
                return Err(FleetError::Refused { driver: driver(), why, exit: exit_code(exit) });
            }
            DriverMessage::Status { .. } => {}
            DriverMessage::Welcome { .. } | DriverMessage::Prepared => {
                return Err(of(&self.name)(out_of_place("a greeting in the middle of a load")));
            }
        }
        Ok(AfterMessage::GoOn)
    }
}
