//! A unit running in a pod, with its watcher, which reads its output, waits for its end and removes the pod.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use barograph_cgroup::groups_of;
use barograph_platform::{Accounts, BoxFuture, Fault, LogTail, Logs, Unit, UnitExit, UnitHandle};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::groups::first_process;
use crate::logs;
use crate::nodes;
use crate::pod_state::PodState;
use crate::removal::delete_pod;
use crate::watch::PodView;

/// Longest wait for the last output of an ended container.
const LAST_WORDS_WAIT: Duration = Duration::from_secs(20);

/// Longest wait for the end of a killed pod on a node that answers.
const KILL_WAIT: Duration = Duration::from_secs(30);

/// Interval between questions for a node that a pod leaves.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// A pod with a running program. Dropping it ends the program.
pub(crate) struct RunningPod {
    unit: String,
    pod: String,
    pods: Api<Pod>,
    log: PathBuf,
    pub(crate) address: Option<SocketAddr>,
    ended: watch::Receiver<Option<UnitExit>>,
    accounts: Accounts,
    /// Dropped with the unit, which its watcher notices.
    _held: oneshot::Sender<()>,
}

impl RunningPod {
    /// Watches a pod whose program runs, or has ended.
    pub(crate) fn watch(
        unit: &Unit,
        (pods, pod): (&Api<Pod>, &str),
        view: PodView,
        container: Option<&str>,
        reading: JoinHandle<()>,
    ) -> Self {
        let (tell, ended) = watch::channel(None);
        let (held, let_go) = oneshot::channel();
        let watched = WatchContext { pods: pods.clone(), pod: pod.to_owned(), view, log: unit.log.clone() };
        tokio::spawn(watched.watch(reading, let_go, tell));
        // Read now: an ended container has no groups.
        let pid = container.and_then(first_process);
        let accounts = Accounts { cgroups: pid.map(groups_of).unwrap_or_default(), pid, machine: false };
        RunningPod {
            unit: unit.name.clone(),
            pod: pod.to_owned(),
            pods: pods.clone(),
            log: unit.log.clone(),
            address: None,
            ended,
            accounts,
            _held: held,
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Waits until it has ended, its log is complete and its pod is removed.
    pub(crate) async fn until_ended(&self) -> UnitExit {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await.map(|ended| ended.clone()) {
            Ok(Some(ended)) => ended,
            _ => UnitExit::Unknown("its watcher was stopped".to_owned()),
        }
    }

    async fn end_with_grace(&self, grace: Duration) -> Result<UnitExit, Fault> {
        if !self.has_ended() {
            let seconds = u32::try_from(grace.as_secs()).unwrap_or(u32::MAX).max(1);
            self.delete(seconds, "stop").await?;
        }
        match timeout(grace + KILL_WAIT, self.until_ended()).await {
            Ok(ended) => Ok(ended),
            Err(_) => self.end_now().await,
        }
    }

    /// Kills the program itself if it is on this machine: a cluster would ask it to end first.
    pub(crate) async fn end_now(&self) -> Result<UnitExit, Fault> {
        if self.has_ended() {
            return Ok(self.until_ended().await);
        }
        let process = self.accounts.pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        let killed = process.is_some_and(|process| kill_process(process, Signal::KILL).is_ok());
        if !killed {
            self.delete(1, "kill").await?;
        }
        if let Ok(ended) = timeout(KILL_WAIT, self.until_ended()).await {
            return Ok(ended);
        }
        // Its node does not answer.
        self.delete(0, "kill").await?;
        let late = |_| Fault::WillNotEnd { unit: self.unit.clone(), after: KILL_WAIT };
        timeout(KILL_WAIT, self.until_ended()).await.map_err(late)
    }

    async fn delete(&self, grace_s: u32, act: &'static str) -> Result<(), Fault> {
        let failed = |why| Fault::Signal { unit: self.unit.clone(), act, source: io::Error::other(why) };
        delete_pod(&self.pods, &self.pod, grace_s).await.map_err(failed)
    }
}

impl UnitHandle for RunningPod {
    fn name(&self) -> &str {
        &self.unit
    }

    fn pid(&self) -> Option<u32> {
        self.accounts.pid
    }

    fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    fn wait_exit(&self) -> BoxFuture<'_, UnitExit> {
        Box::pin(self.until_ended())
    }

    fn stop(&self, grace: Duration) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        Box::pin(self.end_with_grace(grace))
    }

    fn kill(&self) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        Box::pin(self.end_now())
    }

    fn accounts(&self) -> Accounts {
        self.accounts.clone()
    }

    fn logs(&self) -> Option<&dyn Logs> {
        Some(self)
    }
}

impl Logs for RunningPod {
    fn tail(&self, lines: usize) -> LogTail {
        LogTail::of(&self.log, lines)
    }
}

/// Waits until the pod leaves a node that does not answer, and returns the node. A node that answers ends the pod.
async fn until_lost(mut view: PodView, all: Api<Node>) -> String {
    loop {
        if let PodState::Leaves { node } = view.until(|state| matches!(state, PodState::Leaves { .. })).await
            && nodes::is_lost(&all, &node).await
        {
            return node;
        }
        sleep(ASK_EVERY).await;
    }
}

/// State of the watcher.
struct WatchContext {
    pods: Api<Pod>,
    pod: String,
    view: PodView,
    log: PathBuf,
}

impl WatchContext {
    async fn watch(
        mut self,
        mut reading: JoinHandle<()>,
        let_go: oneshot::Receiver<()>,
        tell: watch::Sender<Option<UnitExit>>,
    ) {
        let mut view = self.view.clone();
        let nodes = Api::<Node>::all(self.pods.clone().into_client());
        let state = tokio::select! {
            state = view.until(PodState::is_last) => state,
            node = until_lost(self.view.clone(), nodes) => {
                PodState::Ended { how: UnitExit::NodeLost(node), out_of_memory: false }
            }
            _ = let_go => {
                // If it cannot be asked, the site's end removes it.
                let _ = delete_pod(&self.pods, &self.pod, 1).await;
                let last = timeout(KILL_WAIT, self.view.until(PodState::is_last)).await;
                last.unwrap_or_else(|_| PodState::Waits(None).gone())
            }
        };
        let is_lost = matches!(&state, PodState::Ended { how: UnitExit::NodeLost(_), .. });
        // A lost node has no more words.
        if is_lost || timeout(LAST_WORDS_WAIT, &mut reading).await.is_err() {
            reading.abort();
        }
        let how = match state {
            PodState::Ended { how, out_of_memory } => {
                if out_of_memory {
                    let text = "barograph: the kernel ended a process of this unit: out of memory\n";
                    logs::append(&self.log, text);
                }
                how
            }
            PodState::StepFailed { ended, .. } => ended,
            PodState::Waits(_) | PodState::Runs { .. } | PodState::Leaves { .. } => {
                UnitExit::Unknown("its pod was removed".to_owned())
            }
        };
        // A pod that cannot be removed goes with the site. That of a lost node is not waited for: the service would
        // still lead there.
        let _ = delete_pod(&self.pods, &self.pod, if is_lost { 0 } else { 1 }).await;
        let _ = tell.send(Some(how));
    }
}
