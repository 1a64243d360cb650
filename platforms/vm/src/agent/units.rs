//! Units of this guest, by the numbers from the host process.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use barograph_platform::{Fault, Limits, Site, Unit, UnitHandle};
use barograph_platform_process::Local;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::sleep;

use super::serve::say_blocking;
use super::speak::AgentWriter;
use crate::host_commands::failed;
use crate::wire::{AgentReply, End, Message};

/// Interval between polls of a log.
const LOG_EVERY: Duration = Duration::from_millis(500);

/// Largest piece of a log in one message, in bytes.
const LOG_PIECE: u64 = 256 << 10;

type CreateResult = Result<Box<dyn UnitHandle>, Fault>;

/// State of a unit.
enum UnitState {
    /// It was requested.
    Asked,
    /// It is being created, by this task.
    Coming(AbortHandle),
    /// It was killed during its creation. The task may have been done already, and then there is a process.
    Killed,
    Running(Arc<dyn UnitHandle>),
    /// It has ended, and its end must still be reported.
    Over,
}

pub(super) struct Units {
    local: Arc<Local>,
    voice: AgentWriter,
    logs: PathBuf,
    known: Mutex<HashMap<u64, UnitState>>,
}

/// Sent part of a log.
struct SentLog {
    unit: u64,
    file: File,
    voice: AgentWriter,
}

impl Units {
    pub(super) fn new(local: Arc<Local>, voice: AgentWriter, logs: PathBuf) -> Units {
        Units { local, voice, logs, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<u64, UnitState>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the path of a unit's log in the guest.
    pub(super) fn log_of(&self, name: &str) -> PathBuf {
        self.logs.join(name.replace('/', "-"))
    }

    /// Records a unit in the order of requests, before it is created: from now on it can be killed.
    pub(super) fn announce(&self, number: u64) {
        self.known().insert(number, UnitState::Asked);
    }

    /// Creates an announced unit, and follows it to its end.
    pub(super) async fn create(self: &Arc<Self>, number: u64, mut unit: Unit) -> Result<AgentReply, Fault> {
        let act = || format!("create unit `{}`", unit.name);
        let log = self.log_of(&format!("{number}-{}", unit.name));
        let sent = SentLog::begin(number, &log, &self.voice).map_err(|error| {
            self.known().remove(&number);
            failed(act(), error)
        })?;
        unit.log = log;
        let (local, voice) = (self.local.clone(), self.voice.clone());
        let say_line =
            move |text: &str| voice.say(&Message::Line { unit: number, text: text.to_owned() }, &[]);
        let task = self.begin(number, async move { local.create(&unit, Arc::new(say_line)).await });
        let mut following = tokio::spawn(sent.follow());
        let created = match task {
            Some(task) => task.await.ok(),
            None => None,
        };
        let created = created.unwrap_or_else(|| Err(killed_early()));
        let running: Arc<dyn UnitHandle> = match created {
            Ok(running) => Arc::from(running),
            Err(fault) => {
                let end = End::Unknown("it was not created".to_owned());
                self.finish(&mut following, number, end).await;
                return Err(fault);
            }
        };
        let address = running.address();
        let before = self.known().insert(number, UnitState::Running(running.clone()));
        let (units, followed) = (self.clone(), running.clone());
        tokio::spawn(async move {
            let end = End::from(followed.wait_exit().await);
            units.finish(&mut following, number, end).await;
        });
        if matches!(before, Some(UnitState::Killed)) {
            running.kill().await?;
            return Err(killed_early());
        }
        Ok(AgentReply::Created { address })
    }

    /// Begins to create it, unless it was killed meanwhile.
    fn begin(
        &self,
        number: u64,
        work: impl Future<Output = CreateResult> + Send + 'static,
    ) -> Option<JoinHandle<CreateResult>> {
        let mut known = self.known();
        if matches!(known.get(&number), Some(UnitState::Killed)) {
            return None;
        }
        let task = tokio::spawn(work);
        known.insert(number, UnitState::Coming(task.abort_handle()));
        Some(task)
    }

    fn running(&self, number: u64) -> Option<Arc<dyn UnitHandle>> {
        match self.known().get(&number) {
            Some(UnitState::Running(running)) => Some(running.clone()),
            _ => None,
        }
    }

    /// Returns the running units, by their numbers.
    pub(super) fn all_running(&self) -> Vec<(u64, Arc<dyn UnitHandle>)> {
        let known = self.known();
        let running = known.iter().filter_map(|(number, known)| match known {
            UnitState::Running(running) => Some((*number, running.clone())),
            _ => None,
        });
        running.collect()
    }

    /// Stops a unit. Succeeds if it has ended already.
    pub(super) async fn stop(&self, number: u64, grace: Duration) -> Result<AgentReply, Fault> {
        match self.running(number) {
            Some(running) => Ok(AgentReply::Ended(running.stop(grace).await?.into())),
            None => Ok(AgentReply::Done),
        }
    }

    /// Cancels its creation. Returns whether it did not exist yet.
    fn give_up(&self, number: u64) -> bool {
        match self.known().get_mut(&number) {
            Some(known @ (UnitState::Asked | UnitState::Coming(_))) => {
                if let UnitState::Coming(task) = &*known {
                    task.abort();
                }
                *known = UnitState::Killed;
                true
            }
            _ => false,
        }
    }

    /// Kills it, or cancels its creation.
    pub(super) async fn kill(&self, number: u64) -> Result<AgentReply, Fault> {
        if self.give_up(number) {
            return Ok(AgentReply::Done);
        }
        match self.running(number) {
            Some(running) => Ok(AgentReply::Ended(running.kill().await?.into())),
            None => Ok(AgentReply::Done),
        }
    }

    /// Pauses or resumes it.
    pub(super) fn pause(&self, number: u64, held: bool) -> Result<AgentReply, Fault> {
        if let Some(running) = self.running(number)
            && let Some(pausing) = running.pausing()
        {
            if held { pausing.pause()? } else { pausing.resume()? }
        }
        Ok(AgentReply::Done)
    }

    pub(super) fn limit(&self, number: u64, limits: &Limits) -> Result<AgentReply, Fault> {
        let Some(running) = self.running(number) else { return Ok(AgentReply::Done) };
        match running.limiting() {
            Some(limiting) => limiting.limit(limits).map(|()| AgentReply::Done),
            None => Err(failed("limit a unit", "the guest has no control groups")),
        }
    }

    /// Kills all units but these, and returns the existing ones of these: the end of all others was reported
    /// before.
    pub(super) async fn keep(&self, wanted: &[u64]) -> Result<AgentReply, Fault> {
        let (there, unwanted): (Vec<u64>, Vec<u64>) =
            self.known().keys().copied().partition(|number| wanted.contains(number));
        // Every one is tried; the first fault is returned.
        let mut first = Ok(());
        for number in unwanted {
            first = first.and(self.kill(number).await.map(drop));
        }
        first.map(|()| AgentReply::Kept(there))
    }

    /// Sends the rest of the log, and then the end.
    async fn finish(&self, following: &mut JoinHandle<()>, unit: u64, end: End) {
        self.known().insert(unit, UnitState::Over);
        following.abort();
        // The log is open in the task: it is returned by the task or lost.
        let _ = following.await;
        say_blocking(&self.voice, Message::Ended { unit, end }).await;
        self.known().remove(&unit);
    }

    /// Kills all units.
    pub(super) async fn end_all(&self) {
        let numbers: Vec<u64> = self.known().keys().copied().collect();
        for number in numbers {
            // The guest turns off next.
            let _ = self.kill(number).await;
        }
    }
}

fn killed_early() -> Fault {
    failed("create a unit", "it was killed before it was ready")
}

impl SentLog {
    fn begin(unit: u64, path: &Path, voice: &AgentWriter) -> io::Result<SentLog> {
        File::options().append(true).create(true).open(path)?;
        Ok(SentLog { unit, file: File::open(path)?, voice: voice.clone() })
    }

    /// Sends new lines until it is dropped.
    async fn follow(mut self) {
        loop {
            sleep(LOG_EVERY).await;
            self.send_more();
        }
    }

    /// Sends the new part of the log. A log that cannot be read any more has ended.
    fn send_more(&mut self) {
        let mut piece = Vec::new();
        while let Ok(count) = (&mut self.file).take(LOG_PIECE).read_to_end(&mut piece) {
            if count == 0 {
                break;
            }
            self.voice.say(&Message::Log { unit: self.unit }, &piece);
            piece.clear();
        }
    }
}

impl Drop for SentLog {
    fn drop(&mut self) {
        self.send_more();
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use barograph_platform::{Ledger, Readiness, SiteSpec};

    use super::*;
    use crate::agent::speak::speak;
    use crate::wire::Frames;

    /// Returns the next reported end.
    fn next_end(from: &mut UnixStream, frames: &mut Frames) -> (u64, End) {
        let mut piece = [0; 1000];
        loop {
            match frames.next::<Message>().unwrap() {
                Some((Message::Ended { unit, end }, _)) => return (unit, end),
                Some(_) => {}
                None => {
                    let count = from.read(&mut piece).unwrap();
                    assert!(count > 0, "the port ended");
                    frames.push(&piece[..count]);
                }
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn units_that_are_not_wanted_end_and_one_can_be_killed_before_it_is_created() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path().join("ledger")).unwrap();
        let spec = SiteSpec { id: "test".to_owned(), ..SiteSpec::default() };
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let to = File::from(OwnedFd::from(theirs));
        let (_requests, voice) = speak(to.try_clone().unwrap(), to).unwrap();
        let local = Arc::new(Local::open(&spec, &ledger));
        let units = Arc::new(Units::new(local, voice, folder.path().to_owned()));
        let sleep = || Unit {
            args: vec!["1000".to_owned()],
            workdir: folder.path().to_owned(),
            ..Unit::new("sleep", "/bin/sleep".into(), Readiness::Runs)
        };
        [1, 2, 3].into_iter().for_each(|number| units.announce(number));
        for number in [1, 2] {
            assert!(matches!(units.create(number, sleep()).await.unwrap(), AgentReply::Created { .. }));
        }
        match units.keep(&[2, 3, 9]).await.unwrap() {
            AgentReply::Kept(mut there) => {
                there.sort_unstable();
                assert_eq!(there, [2, 3], "one that was announced is there, and 9 was never heard of");
            }
            other => panic!("{other:?}"),
        }
        let mut frames = Frames::default();
        assert_eq!(next_end(&mut ours, &mut frames), (1, End::Signal(9)));
        units.kill(3).await.unwrap();
        units.create(3, sleep()).await.unwrap_err();
        let end = End::Unknown("it was not created".to_owned());
        assert_eq!(next_end(&mut ours, &mut frames), (3, end));
        units.kill(2).await.unwrap();
        assert_eq!(next_end(&mut ours, &mut frames), (2, End::Signal(9)));
    }
}
