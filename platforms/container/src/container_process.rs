//! A running container with its watcher, which reads its output, waits for its end, removes it and reports.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use barograph_platform::{Fault, UnitExit, UnitOutput};
use bollard::models::{ContainerCreateBody, ContainerState};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::AsyncWrite;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::deadline::Deadline;
use crate::engine::Engine;
use crate::output::{self, LogStream};
use crate::remover::Remover;

/// Longest wait for the last output of an ended container, which may come through a busy engine.
const LAST_WORDS_WAIT: Duration = Duration::from_secs(20);

/// Longest wait for the end of a killed container; only a stuck disk takes longer.
const KILL_WAIT: Duration = Duration::from_secs(20);

/// Longest wait for the reason of an end, which an engine may learn after the end itself.
const REASON_WAIT: Duration = Duration::from_secs(1);

/// Interval between questions for the reason.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Exit code of a killed program.
const KILLED: i64 = 137;

/// Exit codes above this one are those of signals.
const SIGNALS: i64 = 128;

/// Number of the highest signal.
const LAST_SIGNAL: i64 = 64;

/// Parameters of a container.
pub(crate) struct ContainerRequest {
    /// Name of the unit, for messages.
    pub(crate) unit: String,
    /// Path of the program, for messages.
    pub(crate) program: PathBuf,
    pub(crate) body: ContainerCreateBody,
    /// Files for a container of an engine that does not see this machine's files.
    pub(crate) files: Option<Vec<u8>>,
    pub(crate) output: UnitOutput,
    /// Log to which a lack of memory is reported.
    pub(crate) log: PathBuf,
    /// Whether its processes are processes of this machine.
    pub(crate) near: bool,
}

/// A container with a running program. Dropping it ends the program at once.
pub(crate) struct ContainerProcess {
    pub(crate) unit: String,
    pub(crate) container: String,
    pub(crate) engine: Engine,
    /// Its first process, if that is one of this machine.
    pub(crate) pid: Option<u32>,
    ended: watch::Receiver<Option<UnitExit>>,
    /// Handle of the process, which stays correct if its number is reused.
    process: Option<OwnedFd>,
    /// Whether it was killed on purpose.
    killed: Arc<AtomicBool>,
    /// Dropped with the container, which its watcher notices.
    _held: oneshot::Sender<()>,
}

impl ContainerProcess {
    /// Creates and starts a container that is in the ledger. On failure it is removed.
    pub(crate) async fn start(
        engine: &Engine,
        remover: Remover,
        wish: ContainerRequest,
    ) -> Result<Self, Fault> {
        let name = remover.name().to_owned();
        let body = wish.body.clone();
        let made = remover.make(|engine, name| async move { engine.create(&name, body).await });
        let remover = made.await.map_err(about(&wish, "make the container of"))?;
        let (remover, said) = match prepare(engine, remover, &wish).await {
            Ok(prepared) => prepared,
            Err((remover, fault)) => {
                // The fault is reported; a container that stays is in the ledger.
                let _ = remover.now().await;
                return Err(fault);
            }
        };
        let (tell, ended) = watch::channel(None);
        let (held, let_go) = oneshot::channel();
        let reading = tokio::spawn(output::follow(wish.output, said.output));
        let killed = Arc::new(AtomicBool::new(false));
        let limited = wish.body.host_config.is_some_and(|host| host.memory.is_some());
        let watched =
            WatchContext { engine: engine.clone(), remover, log: wish.log, killed: killed.clone(), limited };
        let open = OpenStreams { reading, _input: said.input };
        tokio::spawn(watched.watch(open, let_go, tell));
        let mut contained = ContainerProcess {
            unit: wish.unit,
            container: name,
            engine: engine.clone(),
            pid: None,
            ended,
            process: None,
            killed,
            _held: held,
        };
        if wish.near {
            contained.find_process().await;
        }
        Ok(contained)
    }

    /// A container that has ended meanwhile has no process.
    async fn find_process(&mut self) {
        let state = self.engine.inspect(&self.container).await.ok().and_then(|found| found.state);
        let pid =
            state.and_then(|state| state.pid).and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 1);
        self.process = pid.and_then(open_process);
        self.pid = pid;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Waits until it has ended, its log is complete and its container is removed.
    pub(crate) async fn until_ended(&self) -> UnitExit {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await.map(|ended| ended.clone()) {
            Ok(Some(ended)) => ended,
            _ => UnitExit::Unknown("its watcher was stopped".to_owned()),
        }
    }

    /// Sends a signal, as `SIGTERM`, to its first process.
    pub(crate) async fn signal(&self, signal: &str, act: &'static str) -> Result<(), Fault> {
        if self.has_ended() {
            return Ok(());
        }
        let failed = |error| Fault::Signal { unit: self.unit.clone(), act, source: io::Error::other(error) };
        self.engine.kill(&self.container, signal).await.map_err(failed)
    }

    pub(crate) async fn end_now(&self) -> Result<UnitExit, Fault> {
        self.killed.store(true, Ordering::Relaxed);
        self.signal("SIGKILL", "kill").await?;
        let late = |_| Fault::WillNotEnd { unit: self.unit.clone(), after: KILL_WAIT };
        timeout(KILL_WAIT, self.until_ended()).await.map_err(late)
    }
}

impl Drop for ContainerProcess {
    /// Immediate, without the watcher: the runtime may be about to end.
    fn drop(&mut self) {
        if let Some(process) = self.process.as_ref().filter(|_| !self.has_ended()) {
            // A failure cannot be reported here; the ledger still names the container then.
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

pub(crate) fn open_process(pid: u32) -> Option<OwnedFd> {
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    pidfd_open(number, PidfdFlags::empty()).ok()
}

/// Streams of a container.
struct Streams {
    output: LogStream,
    input: Pin<Box<dyn AsyncWrite + Send>>,
}

/// Converts an error of the engine to a fault of the unit.
fn about(wish: &ContainerRequest, act: &str) -> impl FnOnce(bollard::errors::Error) -> Fault {
    let (unit, act) = (wish.unit.clone(), act.to_owned());
    move |error| Fault::Unit { unit, act, source: Box::new(error) }
}

/// Copies its files to it, attaches its streams and starts it.
async fn prepare(
    engine: &Engine,
    remover: Remover,
    wish: &ContainerRequest,
) -> Result<(Remover, Streams), (Remover, Fault)> {
    let name = remover.name().to_owned();
    let made = async {
        if let Some(files) = wish.files.clone() {
            engine.upload(&name, files).await.map_err(about(wish, "write the files of"))?;
        }
        let said = engine.attach(&name).await.map_err(about(wish, "listen to"))?;
        engine.start(&name).await.map_err(|error| Fault::Start {
            unit: wish.unit.clone(),
            program: wish.program.clone(),
            source: io::Error::other(error),
        })?;
        Ok(Streams { output: said.output, input: said.input })
    };
    match made.await {
        Ok(streams) => Ok((remover, streams)),
        Err(fault) => Err((remover, fault)),
    }
}

/// Streams of a running container.
struct OpenStreams {
    reading: tokio::task::JoinHandle<()>,
    /// The unit's stdin. Only the driver holds it, so a unit that watches it sees the driver end.
    _input: Pin<Box<dyn AsyncWrite + Send>>,
}

/// State of the watcher.
struct WatchContext {
    engine: Engine,
    remover: Remover,
    log: PathBuf,
    killed: Arc<AtomicBool>,
    /// Whether its memory is limited.
    limited: bool,
}

impl WatchContext {
    /// Returns the last state of the container. If it was killed without a known cause, the state is queried
    /// for a while, until the engine knows whether memory ran out.
    async fn last_state(&self, code: Option<i64>) -> Option<ContainerState> {
        let deadline = Deadline::after(REASON_WAIT);
        let strange = code == Some(KILLED) && !self.killed.load(Ordering::Relaxed);
        loop {
            let found = self.engine.inspect(self.remover.name()).await.ok();
            let state = found.and_then(|found| found.state);
            let short = state.as_ref().and_then(|state| state.oom_killed) == Some(true);
            if short {
                self.remark("the kernel ended a process of this unit: out of memory");
            } else if strange && self.limited && !deadline.has_passed() {
                sleep(ASK_EVERY).await;
                continue;
            } else if strange && self.limited {
                self.remark("somebody else killed this unit; its memory is limited, which may be the reason");
            }
            return state;
        }
    }

    fn remark(&self, text: &str) {
        crate::files::append(&self.log, &format!("barograph: {text}\n"));
    }

    async fn watch(
        self,
        mut open: OpenStreams,
        let_go: oneshot::Receiver<()>,
        tell: watch::Sender<Option<UnitExit>>,
    ) {
        let name = self.remover.name().to_owned();
        let code = tokio::select! {
            code = self.engine.wait(&name) => code,
            _ = let_go => {
                self.killed.store(true, Ordering::Relaxed);
                // If it cannot be killed, its removal below does so.
                let _ = self.engine.kill(&name, "SIGKILL").await;
                timeout(KILL_WAIT, self.engine.wait(&name))
                    .await
                    .unwrap_or(Err(bollard::errors::Error::RequestTimeoutError))
            }
        };
        if timeout(LAST_WORDS_WAIT, &mut open.reading).await.is_err() {
            open.reading.abort();
        }
        let state = self.last_state(code.as_ref().ok().copied()).await;
        // A container that cannot be removed stays in the ledger.
        let _ = self.remover.now().await;
        let _ = tell.send(Some(how(code, state)));
    }
}

/// Engines report a signal as an exit code above 128, as shells do; a program that exits with such a code is
/// therefore taken for a killed one.
fn how(code: Result<i64, bollard::errors::Error>, state: Option<ContainerState>) -> UnitExit {
    match code {
        Ok(code) if (SIGNALS + 1..=SIGNALS + LAST_SIGNAL).contains(&code) => {
            UnitExit::Signal(i32::try_from(code - SIGNALS).unwrap_or(i32::MAX))
        }
        Ok(code) => UnitExit::Code(i32::try_from(code).unwrap_or(i32::MAX)),
        Err(error) => {
            let says = state.and_then(|state| state.error).filter(|text| !text.is_empty());
            UnitExit::Unknown(says.unwrap_or_else(|| format!("the engine does not say how: {error}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_tell_signals() {
        let cases = [
            (0, UnitExit::Code(0)),
            (7, UnitExit::Code(7)),
            (128, UnitExit::Code(128)),
            (137, UnitExit::Signal(9)),
            (143, UnitExit::Signal(15)),
            (255, UnitExit::Code(255)),
        ];
        for (code, ended) in cases {
            assert_eq!(how(Ok(code), None), ended);
        }
        let lost = how(Err(bollard::errors::Error::RequestTimeoutError), None);
        assert_eq!(lost, UnitExit::Unknown("the engine does not say how: Timeout error".to_owned()));
    }
}
