//! Creation of a unit: its files, its pod, and the wait until it runs and is ready.

use std::path::Path;
use std::time::Duration;

use barograph_platform::{
    Fault, LogTail, OnLine, Readiness, ReadinessCheck, ReadyAddress, Step, Unit, UnitExit, UnitOutput,
};
use barograph_platform_process::{open_output, until_answered};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Secret};
use kube::Api;
use kube::api::Patch;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::access::refused;
use crate::events;
use crate::logs;
use crate::names;
use crate::pod_state::PodState;
use crate::removal::{apply, delete_pod};
use crate::running::RunningPod;
use crate::sent::SentFiles;
use crate::site::KubernetesSite;
use crate::watch::PodView;

/// Longest wait for a pod's program: images may have to come from far away, and steps make databases.
const START: Duration = Duration::from_secs(900);

/// Time after which warnings about a pod are looked for, and interval between looks.
const QUIET: Duration = Duration::from_secs(1);

/// A pod whose program does not run yet. Dropping it removes the pod.
struct Begun<'a> {
    site: &'a KubernetesSite,
    unit: &'a Unit,
    pods: Api<Pod>,
    name: String,
    view: PodView,
    is_kept: bool,
}

/// The first event.
enum FirstEvent {
    Announced(ReadyAddress),
    Answered,
    Ended(UnitExit),
}

/// Creates `unit` and waits until it is ready. On failure its pod is removed.
pub(crate) async fn create(site: &KubernetesSite, unit: &Unit, on_line: OnLine) -> Result<RunningPod, Fault> {
    lay_out(site, unit)?;
    let (output, announced) = open_output(unit, on_line)?;
    site.give_ports(&unit.host).await?;
    let begun = Begun::begin(site, unit).await?;
    let running = begun.until_running(output).await?;
    until_ready(site, unit, running, announced).await
}

/// Writes the files, and checks that the unit will see them.
fn lay_out(site: &KubernetesSite, unit: &Unit) -> Result<(), Fault> {
    let fault = |act: String, source: Box<dyn std::error::Error + Send + Sync>| Fault::Unit {
        unit: unit.name.clone(),
        act,
        source,
    };
    let view = site.common.view.with_folder(&unit.workdir);
    for file in &unit.files {
        let path = unit.workdir.join(&file.path);
        if !view.is_writable(&path) {
            let act = format!("write file `{}` of", path.display());
            return Err(fault(act, "it lies outside of the folders that the unit may change".into()));
        }
    }
    site.local.lay_out(unit)?;
    match site.common.other_user(unit.user) {
        Some(user) if unit.workdir != Path::new("/") => give(&unit.workdir, user).map_err(|source| {
            fault(format!("give folder `{}` to the user of", unit.workdir.display()), source.into())
        }),
        _ => Ok(()),
    }
}

/// Gives a folder with its content to a user.
fn give(folder: &Path, user: u32) -> std::io::Result<()> {
    std::os::unix::fs::lchown(folder, Some(user), Some(user))?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            give(&entry.path(), user)?;
        } else {
            std::os::unix::fs::lchown(entry.path(), Some(user), Some(user))?;
        }
    }
    Ok(())
}

/// Claims the volume of a unit, unless it has none or has it already.
async fn claim(site: &KubernetesSite, unit: &Unit) -> Result<(), Fault> {
    let Some(wanted) = site.common.claims.of_unit(&site.common.site, &unit.name) else { return Ok(()) };
    let name = names::object(&site.common.site, &unit.name);
    let claims = Api::<PersistentVolumeClaim>::namespaced(site.client.clone(), &site.namespace);
    let made = claims.patch(&name, &apply(), &Patch::Apply(&wanted)).await;
    made.map(drop).map_err(|error| Fault::Unit {
        unit: unit.name.clone(),
        act: "claim the volume of".to_owned(),
        source: refused(&error).into(),
    })
}

/// Sends the files of a unit to the cluster, if pods do not see those of this machine.
async fn send_files(site: &KubernetesSite, unit: &Unit) -> Result<Option<SentFiles>, Fault> {
    let Some(folders) = &site.common.sent_folders else { return Ok(None) };
    let fault = |source: Box<dyn std::error::Error + Send + Sync>| Fault::Unit {
        unit: unit.name.clone(),
        act: "send the files of".to_owned(),
        source,
    };
    let files = SentFiles::of(unit, folders).map_err(|why| fault(why.into()))?;
    let name = names::object(&site.common.site, &unit.name);
    let secrets = Api::<Secret>::namespaced(site.client.clone(), &site.namespace);
    let wanted = files.secret(&site.common.site, &unit.name);
    let made = secrets.patch(&name, &apply(), &Patch::Apply(&wanted)).await;
    made.map_err(|error| fault(refused(&error).into()))?;
    Ok(Some(files))
}

impl<'a> Begun<'a> {
    async fn begin(site: &'a KubernetesSite, unit: &'a Unit) -> Result<Self, Fault> {
        claim(site, unit).await?;
        let sent = send_files(site, unit).await?;
        let name = site.next_pod(&unit.name);
        let pods = site.pods();
        let begun = Begun { site, unit, view: site.watch.of(&name), pods, name, is_kept: false };
        let wanted = site.drained.keep_off(site.common.pod(unit, &begun.name, sent.as_ref()));
        let made = begun.pods.patch(&begun.name, &apply(), &Patch::Apply(&wanted)).await;
        match made {
            Ok(_) => Ok(begun),
            Err(error) => Err(begun.fault("make the pod of", refused(&error))),
        }
    }

    fn fault(&self, act: &str, why: String) -> Fault {
        Fault::Unit { unit: self.unit.name.clone(), act: act.to_owned(), source: why.into() }
    }

    /// Waits until its program runs, or has ended.
    async fn until_running(mut self, output: UnitOutput) -> Result<RunningPod, Fault> {
        let state = match timeout(START, self.until_started()).await {
            Ok(started) => started.map_err(|why| self.fault("start the pod of", why))?,
            Err(_) => return Err(self.fault("start the pod of", format!("it did not run within {START:?}"))),
        };
        if self.site.common.claims.has(&self.unit.name) && self.site.common.sent_folders.is_none() {
            logs::of_step(&self.pods, &self.name, names::COPY.to_owned(), &self.unit.log).await;
        }
        for number in 1..=self.unit.prepare.len() {
            if let PodState::StepFailed { number: failed, .. } = &state
                && number > *failed
            {
                break;
            }
            logs::of_step(&self.pods, &self.name, names::step(number), &self.unit.log).await;
        }
        if let PodState::StepFailed { number, ended } = state {
            return Err(self.step_fault(number, ended));
        }
        let container = match &state {
            PodState::Runs { container } => container.clone(),
            _ => None,
        };
        let reading =
            tokio::spawn(logs::follow(output, self.pods.clone(), self.name.clone(), self.view.clone()));
        self.is_kept = true;
        let place = (&self.pods, self.name.as_str());
        Ok(RunningPod::watch(self.unit, place, self.view.clone(), container.as_deref(), reading))
    }

    /// Waits until it does not wait any more. An error is a reason to wait that has lasted.
    async fn until_started(&mut self) -> Result<PodState, String> {
        let patience = self.site.pending;
        let mut warned = Duration::ZERO;
        loop {
            match self.view.now() {
                Some(PodState::Waits(Some(_))) => {
                    let passes = |state: &PodState| !matches!(state, PodState::Waits(Some(_)));
                    if timeout(patience, self.view.until(passes)).await.is_err()
                        && let Some(PodState::Waits(Some(why))) = self.view.now()
                    {
                        return Err(self.lasting(&why));
                    }
                }
                Some(PodState::Waits(None)) | None => {
                    let changes = |state: &PodState| *state != PodState::Waits(None);
                    if timeout(QUIET, self.view.until(changes)).await.is_ok() {
                        continue;
                    }
                    match events::warning(&self.site.events(), &self.name).await {
                        Some(why) if warned >= patience => return Err(self.lasting(&why)),
                        Some(_) => warned += QUIET,
                        None => warned = Duration::ZERO,
                    }
                }
                Some(state) => return Ok(state),
            }
        }
    }

    fn lasting(&self, why: &str) -> String {
        format!("it has been waiting for {:?}: {why}", self.site.pending)
    }

    fn step_fault(&self, number: usize, ended: UnitExit) -> Fault {
        let step = number.checked_sub(1).and_then(|at| self.unit.prepare.get(at));
        let words = |step: &Step| [step.program.display().to_string()].into_iter().chain(step.args.clone());
        Fault::Prepare {
            unit: self.unit.name.clone(),
            step: match step {
                Some(step) => words(step).collect::<Vec<_>>().join(" "),
                None => "copy of its files to its volume".to_owned(),
            },
            ended,
            log: LogTail::of(&self.unit.log, LogTail::SHOWN),
        }
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let (pods, name) = (self.pods.clone(), self.name.clone());
        runtime.spawn(async move {
            // A pod that stays goes with the site.
            let _ = delete_pod(&pods, &name, 1).await;
        });
    }
}

async fn until_ready(
    site: &KubernetesSite,
    unit: &Unit,
    mut running: RunningPod,
    announced: Option<oneshot::Receiver<ReadyAddress>>,
) -> Result<RunningPod, Fault> {
    let limit = unit.ready.timeout();
    let first = match &unit.ready {
        Readiness::Runs => return Ok(running),
        Readiness::Exit { .. } => {
            timeout(limit, async { FirstEvent::Ended(running.until_ended().await) }).await
        }
        Readiness::StdoutLine { .. } => timeout(limit, until_announced(&running, announced)).await,
        Readiness::Answers { ask, address, .. } => {
            let address = site.local.seen_from_outside(unit, *address);
            running.address = Some(address);
            timeout(limit, until_answer(&running, ask, address)).await
        }
    };
    let job = matches!(unit.ready, Readiness::Exit { .. });
    match first {
        Ok(FirstEvent::Announced(Ok(address))) => {
            let address = site.local.seen_from_outside(unit, address);
            running.address = Some(address);
            // The way through the service is there a moment later.
            match timeout(limit, until_answer(&running, &ReadinessCheck::Listens, address)).await {
                Ok(FirstEvent::Ended(ended)) => Err(ended_early(unit, ended)),
                Ok(_) => Ok(running),
                Err(_) => Err(not_ready(unit, &running, limit).await),
            }
        }
        Ok(FirstEvent::Announced(Err(source))) => {
            running.end_now().await?;
            Err(Fault::BadReadyLine { unit: unit.name.clone(), source })
        }
        Ok(FirstEvent::Answered) => Ok(running),
        Ok(FirstEvent::Ended(ended)) if job && ended.is_success() => Ok(running),
        Ok(FirstEvent::Ended(ended)) => Err(ended_early(unit, ended)),
        Err(_) => Err(not_ready(unit, &running, limit).await),
    }
}

fn ended_early(unit: &Unit, ended: UnitExit) -> Fault {
    Fault::EndedEarly { unit: unit.name.clone(), ended, log: LogTail::of(&unit.log, LogTail::SHOWN) }
}

async fn not_ready(unit: &Unit, running: &RunningPod, limit: Duration) -> Fault {
    // Killed first, so that its log is complete.
    match running.end_now().await {
        Ok(_) => Fault::NotReady {
            unit: unit.name.clone(),
            timeout: limit,
            log: LogTail::of(&unit.log, LogTail::SHOWN),
        },
        Err(fault) => fault,
    }
}

async fn until_answer(running: &RunningPod, ask: &ReadinessCheck, at: std::net::SocketAddr) -> FirstEvent {
    tokio::select! {
        () = until_answered(ask, at) => FirstEvent::Answered,
        ended = running.until_ended() => FirstEvent::Ended(ended),
    }
}

async fn until_announced(
    running: &RunningPod,
    announced: Option<oneshot::Receiver<ReadyAddress>>,
) -> FirstEvent {
    let announced = async {
        match announced {
            Some(receiver) => receiver.await.ok(),
            None => None,
        }
    };
    tokio::select! {
        biased;
        // An end of the output without a ready line disables this branch: the end or the time-out decides.
        Some(announced) = announced => FirstEvent::Announced(announced),
        ended = running.until_ended() => FirstEvent::Ended(ended),
    }
}
