//! Snapshots of memory and disk of a running guest, and restoring them.
//!
//! The agent in a restored guest has the state of the snapshot, and this side does not. So nothing may be in
//! transit between the two at either moment, and afterwards the agent learns which of its units are still
//! wanted.

use std::io;
use std::os::unix::net::UnixStream as BlockingStream;
use std::time::Duration;

use barograph_platform::{Fault, MachineOperation};
use serde_json::json;

use crate::clock::now;
use crate::emulator::Emulator;
use crate::host::{Host, HostState};
use crate::host_commands::failed;
use crate::libvirt::Domain;
use crate::machines::{AGENT_LIMIT, MOVE_LIMIT, allocated, parts, refuse_folders, text};
use crate::moves::both_halves;
use crate::port::{PausedPort, SilentSide};
use crate::qmp::{Event, Qmp, QmpError};
use crate::wire::causes;

/// Command that saves a snapshot.
const SAVE: &str = "snapshot-save";
/// Command that loads a snapshot.
const LOAD: &str = "snapshot-load";

/// An operation of QEMU on a snapshot while the guest is stopped.
struct Job<'a> {
    command: &'static str,
    id: String,
    name: &'a str,
    /// Name of the disk in QEMU.
    node: &'a str,
}

impl Job<'_> {
    /// Runs it. Returns the standstill of the guest.
    async fn run(&self, qmp: &mut Qmp) -> Result<Duration, QmpError> {
        let deadline = now() + MOVE_LIMIT;
        qmp.forget_events();
        let wish = json!({"job-id": self.id, "tag": self.name, "vmstate": self.node, "devices": [self.node]});
        // QEMU answers once the guest has been stopped.
        qmp.execute_by(deadline, self.command, wish).await?;
        let id = self.id.as_str();
        let over = |event: &Event| {
            event.name == "JOB_STATUS_CHANGE" && event.data["id"] == id && event.data["status"] == "concluded"
        };
        qmp.event(deadline, over).await?;
        let jobs = qmp.execute("query-jobs", json!({})).await?;
        let ours = jobs.as_array().and_then(|jobs| jobs.iter().find(|known| known["id"] == id));
        let error = ours.and_then(|job| job.get("error")).map(|error| text(error).to_owned());
        qmp.execute("job-dismiss", json!({ "id": id })).await?;
        if let Some(error) = error {
            return Err(QmpError::Failed(error));
        }
        let stop = qmp.event(deadline, |event| event.name == "STOP").await?;
        let resume = qmp.event(deadline, |event| event.name == "RESUME").await?;
        Ok(resume.at.saturating_sub(stop.at))
    }
}

/// Lets libvirt do what stops the guest for a time. Returns that time, as QEMU reports it.
async fn pause_during(
    qmp: &mut Qmp,
    done: impl Future<Output = Result<(), Fault>>,
) -> Result<Duration, Fault> {
    let deadline = now() + MOVE_LIMIT;
    qmp.forget_events();
    done.await?;
    let error = |error| failed("find how long the guest stood still", error);
    let stop = qmp.event(deadline, |event| event.name == "STOP").await.map_err(error)?;
    let resume = qmp.event(deadline, |event| event.name == "RESUME").await.map_err(error)?;
    Ok(resume.at.saturating_sub(stop.at))
}

/// Lets libvirt go back to a snapshot, for which it starts another QEMU. Returns the time for which the guest stood
/// still, as both QEMUs report it, and the socket of the agent's port.
async fn load_anew(
    emulator: &mut Emulator,
    (domain, name): (&Domain, &str),
    (host, held): (&Host, &PausedPort<'_>),
) -> Result<(Duration, Option<BlockingStream>), Fault> {
    let deadline = now() + MOVE_LIMIT;
    emulator.qmp.forget_events();
    domain.suspend().await?;
    let error = |error| failed("find how long the guest stood still", error);
    let stop = emulator.qmp.event(deadline, |event| event.name == "STOP").await.map_err(error)?;
    // The port is read from here between the end of one QEMU and the connection to the next.
    let (bridge, open) = BlockingStream::pair().map_err(|error| failed("hold the port open", error))?;
    held.read_next(Some(bridge));
    domain.load(name, MOVE_LIMIT).await?;
    let stream = emulator.connect_again().await?;
    let (reading, writing) = both_halves(stream, &host.name)?;
    held.read_next(Some(reading));
    drop(open);
    domain.resume().await?;
    let resume = emulator.qmp.event(deadline, |event| event.name == "RESUME").await.map_err(error)?;
    Ok((resume.at.saturating_sub(stop.at), Some(writing)))
}

/// Saves memory and disk under a name.
pub(crate) async fn snapshot(host: &Host, name: &str) -> Result<MachineOperation, Fault> {
    let act = format!("keep host `{}` under the name `{name}`", host.name);
    let mut guard = host.inner.lock().await;
    refuse_folders(&guard, &act)?;
    let (emulator, disk, count) = parts(&mut guard, &act)?;
    let error = |error: io::Error| failed(act.as_str(), error);
    let before = allocated(&disk.path).map_err(error)?;
    let begun = now();
    let held = host.port.hold(SilentSide::Both, AGENT_LIMIT).await?;
    let saved = match emulator.domain.clone() {
        Some(domain) => pause_during(&mut emulator.qmp, domain.save(name, MOVE_LIMIT)).await,
        None => {
            let job = Job { command: SAVE, id: format!("snapshot{count}"), name, node: &disk.node };
            job.run(&mut emulator.qmp).await.map_err(|error| failed(act.as_str(), error))
        }
    };
    drop(held);
    let downtime = saved?;
    let took = begun.elapsed();
    let after = allocated(&disk.path);
    guard.snapshots.insert(name.to_owned());
    Ok(MachineOperation {
        took,
        downtime,
        standstill: None,
        bytes: after.map_err(error)?.saturating_sub(before),
    })
}

/// Restores a snapshot. A guest in an unknown state is ended.
pub(crate) async fn restore(host: &Host, name: &str) -> Result<MachineOperation, Fault> {
    let act = format!("take host `{}` back to its snapshot `{name}`", host.name);
    let mut guard = host.inner.lock().await;
    refuse_unknown(&guard, name, &act)?;
    let (emulator, disk, count) = parts(&mut guard, &act)?;
    // A snapshot that QEMU does not find would stop the guest nevertheless.
    let bytes = kept_bytes(&mut emulator.qmp, name).await;
    let bytes = bytes.map_err(|error| failed(act.as_str(), error))?;
    let begun = now();
    let held = host.port.hold(SilentSide::Both, AGENT_LIMIT).await?;
    let loaded = match emulator.domain.clone() {
        Some(domain) => load_anew(emulator, (&domain, name), (host, &held)).await,
        None => {
            let job = Job { command: LOAD, id: format!("restore{count}"), name, node: &disk.node };
            match job.run(&mut emulator.qmp).await {
                Err(QmpError::Refused { command, says }) if command == LOAD => {
                    return Err(failed(
                        act,
                        format!("QEMU refuses, and the guest goes on as it was: {says}"),
                    ));
                }
                loaded => loaded.map(|downtime| (downtime, None)).map_err(|error| failed("load it", error)),
            }
        }
    };
    let back = match loaded {
        Ok((downtime, writing)) => go_on(host, held, (name, writing)).await.map(|()| downtime),
        Err(fault) => Err(fault),
    };
    match back {
        Ok(downtime) => Ok(MachineOperation { took: begun.elapsed(), downtime, standstill: None, bytes }),
        Err(fault) => Err(failed(act, end(&mut guard, &fault).await)),
    }
}

/// Synchronises both sides.
async fn go_on(
    host: &Host,
    held: PausedPort<'_>,
    (name, writing): (&str, Option<BlockingStream>),
) -> Result<(), Fault> {
    let why = format!("host `{}` went back to its snapshot `{name}`", host.name);
    held.went_back((&why, writing), AGENT_LIMIT).await?;
    // The clock shows the time of the snapshot.
    host.set_clock().await
}

/// Ends a guest that has neither its old state nor that of the snapshot, and reports that.
async fn end(inner: &mut HostState, fault: &Fault) -> String {
    if let Some(emulator) = inner.emulator.take() {
        // A process that cannot be ended stays in the ledger.
        let _ = emulator.running.kill().await;
    }
    format!("{fault}: {}; the host was in no certain state any more and has been ended", causes(fault))
}

fn refuse_unknown(inner: &HostState, name: &str, act: &str) -> Result<(), Fault> {
    if inner.snapshots.contains(name) {
        return Ok(());
    }
    let known: Vec<String> = inner.snapshots.iter().map(|known| format!("`{known}`")).collect();
    let has = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let why = format!(
        "the host has no snapshot of this name; it has: {has} (to move or clone its disk leaves earlier ones behind)"
    );
    Err(failed(act, why))
}

/// Returns the size of a snapshot's memory in the guest's disk; 0 if QEMU does not report it.
async fn kept_bytes(qmp: &mut Qmp, name: &str) -> Result<u64, QmpError> {
    let nodes = qmp.execute("query-named-block-nodes", json!({})).await?;
    let snapshots =
        nodes.as_array().into_iter().flatten().filter_map(|node| node["image"]["snapshots"].as_array());
    match snapshots.flatten().find(|known| known["name"] == name) {
        Some(snapshot) => Ok(snapshot["vm-state-size"].as_u64().unwrap_or(0)),
        None => Err(QmpError::Failed("the disk has no snapshot of this name any more".to_owned())),
    }
}
