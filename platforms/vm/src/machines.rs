//! Operations on running guests: move, copy, save and restore. After each the guest continues; only a
//! restored guest loses its connections.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use barograph_platform::{BoxFuture, Fault, MachineOperation, Machines};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::time::Instant;

use crate::clock::now;
use crate::emulator::{Disk, Emulator, Hardware, Launched, StartMode};
use crate::host::{Host, HostState};
use crate::host_commands::failed;
use crate::libvirt::target_of;
use crate::port::SilentSide;
use crate::qmp::{Event, Qmp, QmpError};
use crate::settings::Accel;
use crate::site::VmSite;
use crate::snapshots;
use crate::wire::AgentCommand;

/// Longest move: a guest of a few gigabytes that writes much.
pub(crate) const MOVE_LIMIT: Duration = Duration::from_secs(300);

/// Longest wait for the agent to answer, or to sync the guest's file systems.
pub(crate) const AGENT_LIMIT: Duration = Duration::from_secs(60);

/// Longest standstill of a guest during a move, in milliseconds. Memory is copied as fast as this machine
/// can.
const LONGEST_STANDSTILL_MS: u64 = 300;
/// No limit on the bandwidth of copying, in bytes per second.
const NO_BRAKE: u64 = 16 << 30;

impl Machines for VmSite {
    fn migrate<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        Box::pin(async move { migrate(self, &*self.machine(host)?).await })
    }

    fn mirror<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        Box::pin(async move { mirror(self, &*self.machine(host)?).await })
    }

    fn snapshot<'a>(
        &'a self,
        host: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        Box::pin(async move {
            let (host, name) = (self.machine(host)?, name.to_owned());
            to_the_end(async move { snapshots::snapshot(&host, &name).await }).await
        })
    }

    fn restore<'a>(&'a self, host: &'a str, name: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        Box::pin(async move {
            let (host, name) = (self.machine(host)?, name.to_owned());
            to_the_end(async move { snapshots::restore(&host, &name).await }).await
        })
    }

    fn clone_host<'a>(
        &'a self,
        host: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        Box::pin(async move { clone_host(self, &*self.machine(host)?, name).await })
    }
}

/// Completes the operation even if the caller gives up: QEMU continues, and this side must know the result.
async fn to_the_end(
    work: impl Future<Output = Result<MachineOperation, Fault>> + Send + 'static,
) -> Result<MachineOperation, Fault> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|error| Err(failed("do something with a host to its end", error)))
}

/// Returns the emulator and the rest of a host that has not been closed.
pub(crate) fn parts<'a>(
    inner: &'a mut HostState,
    act: &str,
) -> Result<(&'a mut Emulator, &'a mut Disk, u32), Fault> {
    inner.count += 1;
    let HostState { emulator, hardware, count, .. } = inner;
    match emulator {
        Some(emulator) => Ok((emulator, &mut hardware.disk, *count)),
        None => Err(failed(act, "the host is closed")),
    }
}

/// Refuses hosts with shared folders before any work is done: QEMU does not transfer the state of a folder
/// server.
pub(crate) fn refuse_folders(inner: &HostState, act: &str) -> Result<(), Fault> {
    match inner.hardware.folders.first() {
        None => Ok(()),
        Some(_) => Err(failed(
            act,
            "QEMU cannot carry over a guest with folders of this machine: the site has writable folders",
        )),
    }
}

async fn migrate(site: &VmSite, host: &Host) -> Result<MachineOperation, Fault> {
    let act = format!("move host `{}` to another emulator", host.name);
    let plant = site.plant();
    let mut guard = host.inner.lock().await;
    refuse_folders(&guard, &act)?;
    forget_snapshots(&mut guard).await?;
    let mut hardware = guard.hardware.clone();
    hardware.host = host.spec.clone();
    let (from, _, count) = parts(&mut guard, &act)?;
    let old_tap = from.tap.name.clone();
    let twin = plant.switch.twin_tap(&old_tap, &site.twin_name()).await?;
    let tag = format!("{}-{count}", host.name);
    // Without the clock the move is as good, and its standstill unknown.
    let before = host.measure_clock().await.ok();
    let begun = now();
    let begin = (twin.clone(), StartMode::Incoming);
    let started = Launched::start(&plant.work, &hardware, begin, (plant.settings.manager, &tag)).await;
    let carried = match started {
        Ok(to) if to.domain.is_some() => through_libvirt((host, plant.accel), from, to, &hardware).await,
        Ok(to) => {
            let place = format!("unix:{}", plant.work.folder.join(format!("{tag}.move")).display());
            match to.connect().await {
                Ok((to, stream)) => carry_over((host, plant.accel), from, (to, stream), &place).await,
                Err(fault) => Err(fault),
            }
        }
        Err(fault) => Err(fault),
    };
    let (to, (downtime, bytes)) = match carried {
        Ok(carried) => carried,
        Err(fault) => {
            // A tap that stays is removed with the switch; the first fault is reported.
            let _ = plant.switch.remove(&twin.name).await;
            return Err(fault);
        }
    };
    let took = begun.elapsed();
    host.moved_to(&to);
    site.taps_changed(&host.name, &twin.name);
    // The guest is there now, so every step is tried; the first fault is returned.
    let ended = match guard.emulator.replace(to) {
        Some(old) => old.quit().await,
        None => Ok(()),
    };
    let shaped = plant.switch.shape(&twin.name, host.spec.link).await.map_err(Fault::from);
    let removed = plant.switch.remove(&old_tap).await.map_err(Fault::from);
    ended.and(shaped).and(removed)?;
    let after = host.measure_clock().await.ok();
    let standstill = before.zip(after).map(|(before, after)| after.standstill_since(before));
    Ok(MachineOperation { took, downtime, standstill, bytes })
}

/// Drops what libvirt knows of the snapshots of a guest that is to move; without libvirt they stay.
async fn forget_snapshots(inner: &mut HostState) -> Result<(), Fault> {
    let Some(domain) = inner.emulator.as_ref().and_then(|emulator| emulator.domain.clone()) else {
        return Ok(());
    };
    while let Some(name) = inner.snapshots.pop_first() {
        domain.forget(&name).await?;
    }
    Ok(())
}

/// Lets libvirt move the guest to the waiting daemon. On failure that daemon is ended, and the guest continues
/// where it was.
async fn through_libvirt(
    (host, accel): (&Host, Accel),
    from: &mut Emulator,
    to: Launched,
    hardware: &Hardware,
) -> Result<(Emulator, (Duration, u64)), Fault> {
    let act = format!("move host `{}` to another host of libvirt", host.name);
    let (Some(source), Some(target)) = (from.domain.clone(), to.domain.clone()) else {
        return Err(failed(act, "libvirt does not run it"));
    };
    let deadline = now() + MOVE_LIMIT;
    let held = host.port.hold(SilentSide::Here, AGENT_LIMIT).await?;
    from.qmp.forget_events();
    // An emulated guest is copied at rest, as without libvirt.
    let stopped = match accel {
        Accel::Kvm => None,
        Accel::Tcg => {
            source.suspend().await?;
            let stopped = from.qmp.event(deadline, |event| event.name == "STOP").await;
            Some(stopped.map_err(|error| failed(act.as_str(), error))?)
        }
    };
    let (tap, sockets) = (to.tap.clone(), to.sockets.clone());
    // The other QEMU exists from the beginning of the move on, and this one ends with the move: the agent's port must
    // be open at both by then.
    let connecting = async {
        let (emulator, stream) = to.connect().await?;
        let (reading, writing) = both_halves(stream, &host.name)?;
        held.read_next(Some(reading));
        Ok::<_, Fault>((emulator, writing))
    };
    let moving = source.migrate(&target, hardware, (&tap, &sockets), MOVE_LIMIT);
    let (mut emulator, writing) = match tokio::join!(moving, connecting) {
        (Ok(()), Ok(connected)) => connected,
        (moved, connected) => {
            if let Ok((emulator, _)) = connected {
                // A daemon that cannot be ended stays in the ledger; the first fault is reported.
                let _ = emulator.quit().await;
            }
            held.read_next(None);
            if stopped.is_some() {
                let _ = source.resume().await;
            }
            return Err(moved.err().unwrap_or_else(|| failed(act, "its new QEMU could not be reached")));
        }
    };
    if stopped.is_some() {
        target.resume().await?;
    }
    held.write_on(writing);
    let (mut downtime, bytes) = target.arrival().await?;
    if let Some(stopped) = stopped {
        let resumed = emulator.qmp.event(deadline, |event| event.name == "RESUME").await;
        let resumed = resumed.map_err(|error| failed(act, error))?;
        downtime = resumed.at.saturating_sub(stopped.at);
    }
    Ok((emulator, (downtime, bytes)))
}

/// Moves the guest to the waiting emulator. On failure that emulator is ended, and the guest continues where
/// it was.
async fn carry_over(
    (host, accel): (&Host, Accel),
    from: &mut Emulator,
    (mut to, stream): (Emulator, UnixStream),
    place: &str,
) -> Result<(Emulator, (Duration, u64)), Fault> {
    let carried = hand_over((host, accel), &mut from.qmp, (&mut to.qmp, stream), place).await;
    match carried {
        Ok(carried) => Ok((to, carried)),
        Err(fault) => {
            // An emulator that cannot be ended stays in the ledger; the first fault is reported.
            if to.quit().await.is_ok() {
                // A guest that had been transferred is stopped here; a running one ignores this.
                let _ = from.qmp.execute("cont", json!({})).await;
            }
            Err(fault)
        }
    }
}

/// Two handles of the socket of an agent's port, for threads that wait.
pub(crate) fn both_halves(stream: UnixStream, host: &str) -> Result<(BlockingStream, BlockingStream), Fault> {
    let error = |error: io::Error| failed(format!("move the port of host `{host}`"), error);
    let reading = stream.into_std().map_err(error)?;
    reading.set_nonblocking(false).map_err(error)?;
    let writing = reading.try_clone().map_err(error)?;
    Ok((reading, writing))
}

/// Moves the guest and the connection to its agent. Returns the guest's standstill, and the bytes.
async fn hand_over(
    (host, accel): (&Host, Accel),
    from: &mut Qmp,
    (to, stream): (&mut Qmp, UnixStream),
    place: &str,
) -> Result<(Duration, u64), Fault> {
    // All operations on sockets that can fail come before the guest moves.
    let (reading, writing) = both_halves(stream, &host.name)?;
    let held = host.port.hold(SilentSide::Here, AGENT_LIMIT).await?;
    let carried = match accel {
        Accel::Kvm => carry(from, to, place).await,
        Accel::Tcg => carry_at_rest(from, to, place).await,
    };
    let carried =
        carried.map_err(|error| failed(format!("move host `{}` to another emulator", host.name), error))?;
    held.go_on(reading, writing);
    Ok(carried)
}

/// Copies from one QEMU to another while the guest runs. Returns the standstill, and the bytes.
async fn carry(from: &mut Qmp, to: &mut Qmp, place: &str) -> Result<(Duration, u64), QmpError> {
    let deadline = now() + MOVE_LIMIT;
    let carried = copy_guest(from, to, place, deadline).await?;
    to.event(deadline, |event| event.name == "RESUME").await?;
    Ok(carried)
}

/// Copies while the guest is stopped, as an emulated one requires: QEMU before 9.0 can miss writes of an
/// emulated processor to memory that it is copying, and the guest's kernel then finds its data corrupted.
async fn carry_at_rest(from: &mut Qmp, to: &mut Qmp, place: &str) -> Result<(Duration, u64), QmpError> {
    let deadline = now() + MOVE_LIMIT;
    from.forget_events();
    from.execute("stop", json!({})).await?;
    let stopped = from.event(deadline, |event| event.name == "STOP").await?;
    let (_, bytes) = copy_guest(from, to, place, deadline).await?;
    to.execute("cont", json!({})).await?;
    let resumed = to.event(deadline, |event| event.name == "RESUME").await?;
    Ok((resumed.at.saturating_sub(stopped.at), bytes))
}

/// Copies memory and devices. Returns the standstill of a running guest, and the bytes.
async fn copy_guest(
    from: &mut Qmp,
    to: &mut Qmp,
    place: &str,
    deadline: Instant,
) -> Result<(Duration, u64), QmpError> {
    let events = json!({"capabilities": [{"capability": "events", "state": true}]});
    from.execute("migrate-set-capabilities", events).await?;
    let brakes = json!({"max-bandwidth": NO_BRAKE, "downtime-limit": LONGEST_STANDSTILL_MS});
    from.execute("migrate-set-parameters", brakes).await?;
    to.execute("migrate-incoming", json!({ "uri": place })).await?;
    from.forget_events();
    from.execute("migrate", json!({ "uri": place })).await?;
    let ended = |event: &Event| {
        event.name == "MIGRATION"
            && ["completed", "failed", "cancelled"].contains(&text(&event.data["status"]))
    };
    let event = from.event(deadline, ended).await?;
    let figures = from.execute("query-migrate", json!({})).await?;
    if event.data["status"] != "completed" {
        return Err(QmpError::Failed(format!("the move ended as {}", figures)));
    }
    let downtime = Duration::from_millis(figures["downtime"].as_u64().unwrap_or(0));
    Ok((downtime, figures["ram"]["transferred"].as_u64().unwrap_or(0)))
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

async fn mirror(site: &VmSite, host: &Host) -> Result<MachineOperation, Fault> {
    let act = format!("move the disk of host `{}`", host.name);
    let mut guard = host.inner.lock().await;
    let target = target_of(&guard.hardware);
    let (emulator, disk, count) = parts(&mut guard, &act)?;
    let to = Disk {
        path: site.plant().disks.join(format!("{}-{count}.qcow2", host.name)),
        node: format!("disk{count}"),
    };
    let begun = now();
    let downtime = match &emulator.domain {
        None => copy_disk(&mut emulator.qmp, disk, &to).await.map_err(|error| failed(act.as_str(), error))?,
        Some(domain) => {
            domain.copy_disk(&target, &to.path, MOVE_LIMIT).await?;
            let asked = now();
            domain.pivot(&target).await?;
            asked.elapsed()
        }
    };
    let took = begun.elapsed();
    let old = std::mem::replace(disk, to);
    let bytes = allocated(&disk.path);
    // Snapshots are in the old file only.
    guard.snapshots.clear();
    let bytes = bytes.map_err(|error| failed(act.as_str(), error))?;
    // The disk below a clone has another name, so this one has no other reader.
    fs::remove_file(&old.path).map_err(|error| failed(act, error))?;
    Ok(MachineOperation { took, downtime, bytes, standstill: None })
}

/// Returns the duration of the switch to the copy: the guest's requests waited no longer than that.
async fn copy_disk(qmp: &mut Qmp, from: &Disk, to: &Disk) -> Result<Duration, QmpError> {
    let deadline = now() + MOVE_LIMIT;
    qmp.forget_events();
    let wish = json!({
        "job-id": to.node, "device": from.node, "target": to.path, "node-name": to.node,
        "format": "qcow2", "sync": "full", "mode": "absolute-paths",
    });
    qmp.execute("drive-mirror", wish).await?;
    let ours = |event: &Event| event.data["device"] == to.node.as_str();
    let ready = qmp.event(deadline, |event| {
        ours(event) && ["BLOCK_JOB_READY", "BLOCK_JOB_COMPLETED"].contains(&event.name.as_str())
    });
    let ready = ready.await?;
    if ready.name != "BLOCK_JOB_READY" {
        return Err(QmpError::Failed(format!("the copy ended early: {}", text(&ready.data["error"]))));
    }
    let begun = now();
    qmp.execute("block-job-complete", json!({"device": to.node})).await?;
    let done = qmp.event(deadline, |event| ours(event) && event.name == "BLOCK_JOB_COMPLETED").await?;
    match done.data.get("error") {
        None => Ok(begun.elapsed()),
        Some(error) => Err(QmpError::Failed(text(error).to_owned())),
    }
}

async fn clone_host(site: &VmSite, host: &Host, name: &str) -> Result<MachineOperation, Fault> {
    let act = format!("clone host `{}` as `{name}`", host.name);
    if site.machine(name).is_ok() {
        return Err(failed(act, "the site has such a host already"));
    }
    let plant = site.plant();
    let begun = now();
    // Data not written by the guest yet would be missing in the clone.
    host.port.ask(AgentCommand::Sync, &host.name, AGENT_LIMIT).await?;
    let (below, downtime) = {
        let mut guard = host.inner.lock().await;
        let target = target_of(&guard.hardware);
        let (emulator, disk, count) = parts(&mut guard, &act)?;
        let node = format!("disk{count}");
        let above = plant.disks.join(format!("{}-{count}.qcow2", host.name));
        let asked = now();
        match &emulator.domain {
            Some(domain) => domain.overlay(&target, &above).await?,
            None => {
                let wish = json!({
                    "node-name": disk.node, "snapshot-file": above, "snapshot-node-name": node, "format": "qcow2",
                });
                let done = emulator.qmp.execute("blockdev-snapshot-sync", wish).await;
                done.map_err(|error| failed(act.as_str(), error)).map(drop)?;
            }
        }
        let below = std::mem::replace(disk, Disk { path: above, node });
        // Snapshots are in the file below only.
        guard.snapshots.clear();
        (below.path, asked.elapsed())
    };
    let bytes = allocated(&below).map_err(|error| failed(act.as_str(), error))?;
    let disk = plant.disk_on(&below, "qcow2", &format!("{name}.qcow2"), "disk0").await?;
    let spec = barograph_platform::HostSpec { name: name.to_owned(), ..host.spec.clone() };
    let clone = Host::boot(&plant, spec, Some(disk)).await?;
    site.add(Arc::new(clone));
    Ok(MachineOperation { took: begun.elapsed(), downtime, bytes, standstill: None })
}

/// Returns the bytes that a file takes on disk.
pub(crate) fn allocated(path: &Path) -> io::Result<u64> {
    Ok(fs::metadata(path)?.blocks() * 512)
}
