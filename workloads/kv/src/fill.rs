//! Filling of the stores through their address, before the load.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use barograph_model::words::in_one_line;
use barograph_net::{Dialer, Stream};
use barograph_reactor::{Pace, Reactor};
use barograph_record::{Count, Fill};
use barograph_resp::{Command, ReadResult, Reply, reply};
use barograph_workload::{FillProgress, OnProgress};
use futures::future::{Either, select, try_join_all};

use crate::command::{Family, Verb};
use crate::keys::store_of;
use crate::program::PreparedLoad;
use crate::values::field;

/// Commands sent before their replies are read.
const BATCH: usize = 500;

/// Bytes of commands at which a batch ends early.
const BATCH_BYTES: usize = 256 * 1024;

/// Interval between checks for a stop, in nanoseconds.
const LOOK_NS: u64 = 50_000_000;

/// Interval between progress reports, and between checks for a stalled store.
const SHOW_EVERY: Duration = Duration::from_millis(250);

/// Reports without progress after which the fill fails: half a minute.
const MOST_SILENT: u32 = 120;

/// Progress of a fill, and whether it should stop. Shared with the filling thread.
#[derive(Default)]
struct State {
    done: AtomicU64,
    stop: AtomicBool,
}

/// Stops the thread when the fill is dropped.
struct StopAtEnd(Arc<State>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Release);
    }
}

/// Writes the keys required by a plan. Dropped before its end, it stops within a tenth of a second.
///
/// # Errors
/// The refusal of a store, or the end of a connection.
pub(crate) async fn fill(program: Arc<PreparedLoad>, progress: OnProgress) -> Result<Fill, String> {
    let jobs = Jobs::of(&program);
    let (total, rows) = (jobs.commands(), jobs.rows());
    let state = Arc::new(State::default());
    let stop = StopAtEnd(Arc::clone(&state));
    let (send, mut ended) = tokio::sync::oneshot::channel();
    let spawned = std::thread::Builder::new().name("fill".to_owned()).spawn({
        let state = Arc::clone(&state);
        move || {
            // Without a receiver the fill was dropped.
            let _ = send.send(on_thread(&program, &jobs, &state));
        }
    });
    spawned.map_err(|why| format!("start a thread: {why}"))?;
    let mut show = tokio::time::interval(SHOW_EVERY);
    let (mut before, mut silent) = (0, 0);
    let end = loop {
        tokio::select! {
            biased;
            end = &mut ended => break end,
            _ = show.tick() => {}
        }
        let done = state.done.load(Ordering::Relaxed);
        progress(FillProgress { stage: "fill".to_owned(), done, total });
        silent = if done == before { silent + 1 } else { 0 };
        before = done;
        if silent > MOST_SILENT {
            return Err("no reply came for half a minute".to_owned());
        }
    };
    drop(stop);
    end.map_err(|_| "the thread that fills ended early".to_owned())??;
    Ok(Fill { rows, ..Fill::default() })
}

/// Keys and values to write.
struct Jobs {
    families: Vec<Family>,
    /// Keys of each family, numbered from 0.
    keys: u64,
    fields: u64,
    elements: u64,
}

impl Jobs {
    fn of(program: &PreparedLoad) -> Self {
        let has = |family: &Family| program.verbs.iter().any(|verb| verb.family() == *family);
        // A missing counter counts from 0.
        let families = Family::ALL.into_iter().filter(|family| *family != Family::Counters && has(family));
        let keys = (program.keys.count() as f64 * program.plan.fill.get()).round() as u64;
        let (fields, elements) = (program.plan.fields.into(), program.plan.range.into());
        Jobs { families: families.collect(), keys, fields, elements }
    }

    /// Number of commands for one key.
    fn of_key(&self, family: Family) -> u64 {
        match family {
            Family::Strings | Family::Counters => 1,
            Family::Hashes => self.fields,
            // An existing list is removed first.
            Family::Lists => self.elements + 1,
        }
    }

    fn commands(&self) -> u64 {
        self.families.iter().map(|family| self.keys * self.of_key(*family)).sum()
    }

    fn rows(&self) -> Vec<Count> {
        self.families.iter().map(|family| Count::new(family.name(), self.keys)).collect()
    }
}

/// Pace of checks for a stop. It needs no clock: all its times are the same.
struct StopPoll {
    state: Arc<State>,
    waker: Rc<RefCell<Option<Waker>>>,
}

impl Pace for StopPoll {
    fn now(&self) -> u64 {
        0
    }

    fn due(&self) -> Option<u64> {
        Some(LOOK_NS)
    }

    fn fire(&self) {
        if self.state.stop.load(Ordering::Acquire)
            && let Some(waker) = self.waker.borrow_mut().take()
        {
            waker.wake();
        }
    }
}

fn on_thread(program: &Arc<PreparedLoad>, jobs: &Jobs, state: &Arc<State>) -> Result<(), String> {
    let reactor = Reactor::new().map_err(|why| format!("make an event loop: {why}"))?;
    let waker: Rc<RefCell<Option<Waker>>> = Rc::default();
    let look = StopPoll { state: Arc::clone(state), waker: Rc::clone(&waker) };
    let stopped = {
        let state = Arc::clone(state);
        poll_fn(move |cx| {
            if state.stop.load(Ordering::Acquire) {
                return Poll::Ready(());
            }
            *waker.borrow_mut() = Some(cx.waker().clone());
            Poll::Pending
        })
    };
    let stores = (0..program.stores.len()).map(|store| {
        let filling = StoreFill {
            program: Arc::clone(program),
            store,
            state: Arc::clone(state),
            out: Vec::new(),
            input: Vec::new(),
            sent: 0,
        };
        filling.run(jobs.families.iter().map(|family| (*family, jobs.keys)).collect())
    });
    let all = try_join_all(stores.collect::<Vec<_>>());
    let main = async move {
        match select(Box::pin(all), stopped).await {
            Either::Left((end, _)) => end.map(|_| ()),
            Either::Right(_) => Err("stopped".to_owned()),
        }
    };
    reactor.run(main, &look).map_err(|why| format!("wait for events: {why}"))?
}

/// The fill of one store.
struct StoreFill {
    program: Arc<PreparedLoad>,
    store: usize,
    state: Arc<State>,
    out: Vec<u8>,
    input: Vec<u8>,
    /// Number of commands in `out`.
    sent: usize,
}

impl StoreFill {
    async fn run(mut self, families: Vec<(Family, u64)>) -> Result<(), String> {
        let program = Arc::clone(&self.program);
        let dialer = Dialer::new(&program.stores[self.store]);
        let connected = match &program.tls {
            None => dialer.connect(0).await,
            Some(tls) => dialer.connect_tls(0, tls).await,
        };
        let mut stream = connected.map_err(|why| in_one_line(&why))?;
        let greeting = program.greet(&mut self.out);
        self.exchange(&mut stream, greeting).await?;
        for (family, keys) in families {
            let own = self.store;
            for key in (0..keys).filter(|key| store_of(*key, program.stores.len()) == own) {
                self.key(family, key);
                if self.sent >= BATCH || self.out.len() >= BATCH_BYTES {
                    self.flush(&mut stream).await?;
                }
            }
        }
        self.flush(&mut stream).await
    }

    /// Appends the commands that fill one key.
    fn key(&mut self, family: Family, key: u64) {
        let program = &self.program;
        let mut name = program.keys.begin(family).into_bytes();
        program.keys.write_number(key, &mut name);
        let mut command = |words: &[&[u8]]| {
            Command::write(&mut self.out, words);
            self.sent += 1;
        };
        let expiry = program.plan.expire_s.to_string();
        match family {
            Family::Strings if program.plan.expire_s > 0 && program.verbs.contains(&Verb::Set) => {
                command(&[b"SET", &name, program.values.of(key), b"EX", expiry.as_bytes()]);
            }
            Family::Strings => command(&[b"SET", &name, program.values.of(key)]),
            Family::Counters => {}
            Family::Hashes => {
                for number in 0..program.plan.fields {
                    let value = program.values.of(field(key, number));
                    command(&[b"HSET", &name, number.to_string().as_bytes(), value]);
                }
            }
            Family::Lists => {
                command(&[b"DEL", &name]);
                (0..program.plan.range).for_each(|_| command(&[b"LPUSH", &name, program.values.of(key)]));
            }
        }
    }

    async fn flush(&mut self, stream: &mut Stream) -> Result<(), String> {
        let sent = std::mem::take(&mut self.sent);
        self.exchange(stream, sent).await?;
        self.state.done.fetch_add(sent as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Sends the buffered commands and reads that many replies.
    async fn exchange(&mut self, stream: &mut Stream, mut replies: usize) -> Result<(), String> {
        stream.write_all(&self.out).await.map_err(|why| why.to_string())?;
        self.out.clear();
        while replies > 0 {
            self.input.reserve(BATCH_BYTES);
            if stream.read_into(&mut self.input).await.map_err(|why| why.to_string())? == 0 {
                return Err("the store closed the connection".to_owned());
            }
            let mut at = 0;
            while let ReadResult::Whole { reply, length } =
                reply(&self.input[at..]).map_err(|why| why.to_string())?
            {
                at += length;
                match reply {
                    Reply::Push(_) => continue,
                    Reply::Error(text) => return Err(String::from_utf8_lossy(text).into_owned()),
                    _ => replies = replies.saturating_sub(1),
                }
            }
            self.input.drain(..at);
        }
        Ok(())
    }
}
