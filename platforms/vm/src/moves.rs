//! Moves of running guests from one emulator to another, with their disks or without.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::PathBuf;
use std::time::Duration;

use barograph_platform::{Fault, MachineOperation};
use serde_json::json;
use tokio::net::UnixStream;
use tokio::time::Instant;

use crate::clock::now;
use crate::emulator::{Emulator, Hardware, Launched, StartMode};
use crate::host::{Host, HostState};
use crate::host_commands::failed;
use crate::libvirt::{Domain, target_of};
use crate::machines::{AGENT_LIMIT, MOVE_LIMIT, parts, refuse_folders, text};
use crate::port::SilentSide;
use crate::qmp::{Event, Qmp, QmpError};
use crate::settings::Accel;
use crate::site::VmSite;

/// Longest standstill of a guest during a move, in milliseconds. Memory is copied as fast as this machine
/// can.
const LONGEST_STANDSTILL_MS: u64 = 300;
/// No limit on the bandwidth of copying, in bytes per second.
const NO_BRAKE: u64 = 16 << 30;

/// Parts of a host that move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MovedParts {
    /// Memory and devices.
    Machine,
    /// The disk as well, to another file.
    MachineAndDisk,
}

/// Name of a disk that QEMUs pass between them.
const EXPORT: &str = "disk";

/// A disk that moves with its guest: the new emulator serves its new file, which the old one fills and keeps equal
/// until the guest has stopped.
struct CarriedDisk {
    /// Name of the disk in the old emulator.
    from: String,
    /// Name of its new file in the new one.
    to: String,
    /// Socket between them.
    socket: PathBuf,
}

impl CarriedDisk {
    /// Copies the disk, until both are equal but for what the guest writes.
    async fn begin(&self, from: &mut Qmp, to: &mut Qmp, deadline: Instant) -> Result<(), QmpError> {
        let place = json!({"type": "unix", "data": {"path": self.socket}});
        to.execute("nbd-server-start", json!({ "addr": place })).await?;
        let export =
            json!({"type": "nbd", "id": EXPORT, "node-name": self.to, "name": EXPORT, "writable": true});
        to.execute("block-export-add", export).await?;
        from.forget_events();
        let target = format!("nbd:unix:{}:exportname={EXPORT}", self.socket.display());
        let wish = json!({
            "job-id": self.to, "device": self.from, "target": target, "format": "raw", "sync": "full",
            "mode": "existing",
        });
        from.execute("drive-mirror", wish).await?;
        let ready = from.event(deadline, |event| {
            self.is_told_by(event)
                && ["BLOCK_JOB_READY", "BLOCK_JOB_COMPLETED"].contains(&event.name.as_str())
        });
        let ready = ready.await?;
        match ready.name.as_str() {
            "BLOCK_JOB_READY" => Ok(()),
            _ => Err(QmpError::Failed(format!(
                "the copy of the disk ended early: {}",
                text(&ready.data["error"])
            ))),
        }
    }

    /// Ends the copy; both are equal then, as the guest does not run.
    async fn finish(&self, from: &mut Qmp, deadline: Instant) -> Result<(), QmpError> {
        from.execute("block-job-cancel", json!({"device": self.to})).await?;
        // A copy that is ready and cancelled is complete.
        let done = from.event(deadline, |event| {
            self.is_told_by(event)
                && ["BLOCK_JOB_COMPLETED", "BLOCK_JOB_CANCELLED"].contains(&event.name.as_str())
        });
        let done = done.await?;
        match done.data.get("error") {
            None if done.name == "BLOCK_JOB_COMPLETED" => Ok(()),
            None => Err(QmpError::Failed("the copy of the disk was not complete".to_owned())),
            Some(error) => Err(QmpError::Failed(text(error).to_owned())),
        }
    }

    /// Ends the service of the new file, which would keep the guest from moving again.
    async fn close(to: &mut Qmp) -> Result<(), QmpError> {
        to.execute("nbd-server-stop", json!({})).await.map(drop)
    }

    fn is_told_by(&self, event: &Event) -> bool {
        event.data["device"] == self.to.as_str()
    }
}

/// How a guest is carried from one QEMU to another.
struct Way {
    accel: Accel,
    /// Address between them.
    place: String,
    disk: Option<CarriedDisk>,
}

/// Moves a host to another emulator.
pub(crate) async fn migrate(
    site: &VmSite,
    host: &Host,
    moved: MovedParts,
) -> Result<MachineOperation, Fault> {
    let act = format!("move host `{}` to another emulator", host.name);
    let plant = site.plant();
    let mut guard = host.inner.lock().await;
    refuse_folders(&guard, &act)?;
    forget_snapshots(&mut guard).await?;
    let mut hardware = guard.hardware.clone();
    hardware.host = host.spec.clone();
    let (from, _, count) = parts(&mut guard, &act)?;
    let old_disk = hardware.disk.clone();
    if moved == MovedParts::MachineAndDisk {
        let name = format!("{}-{count}.qcow2", host.name);
        hardware.disk = plant.disk_on(&plant.empty, "raw", &name, &format!("disk{count}")).await?;
    }
    let old_tap = from.tap.name.clone();
    let twin = plant.switch.twin_tap(&old_tap, &site.twin_name()).await?;
    let tag = format!("{}-{count}", host.name);
    // Without the clock the move is as good, and its standstill unknown.
    let before = host.measure_clock().await.ok();
    let begun = now();
    let begin = (twin.clone(), StartMode::Incoming);
    let started = Launched::start(&plant.work, &hardware, begin, (plant.settings.manager, &tag)).await;
    let carried = match started {
        Ok(to) if to.domain.is_some() => {
            through_libvirt((host, plant.accel), from, to, (&hardware, moved)).await
        }
        Ok(to) => {
            let socket = |end: &str| plant.work.folder.join(format!("{tag}.{end}"));
            let (here, there) = (old_disk.node.clone(), hardware.disk.node.clone());
            let disk = CarriedDisk { from: here, to: there, socket: socket("nbd") };
            let disk = (moved == MovedParts::MachineAndDisk).then_some(disk);
            let way = Way { accel: plant.accel, place: format!("unix:{}", socket("move").display()), disk };
            match to.connect().await {
                Ok((to, stream)) => carry_over(host, from, (to, stream), &way).await,
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
            if moved == MovedParts::MachineAndDisk {
                // A file that stays is removed with the site.
                let _ = fs::remove_file(&hardware.disk.path);
            }
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
    let dropped = match moved {
        MovedParts::Machine => Ok(()),
        MovedParts::MachineAndDisk => {
            guard.hardware.disk = hardware.disk;
            // Snapshots are in the old file only. A disk below a clone has another name, so this one has no reader.
            guard.snapshots.clear();
            fs::remove_file(&old_disk.path).map_err(|error| failed(act, error))
        }
    };
    ended.and(shaped).and(removed).and(dropped)?;
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
    (hardware, moved): (&Hardware, MovedParts),
) -> Result<(Emulator, (Duration, u64)), Fault> {
    let act = format!("move host `{}` to another host of libvirt", host.name);
    let (Some(source), Some(target)) = (from.domain.clone(), to.domain.clone()) else {
        return Err(failed(act, "libvirt does not run it"));
    };
    let deadline = now() + MOVE_LIMIT;
    // An emulated guest is copied at rest, as without libvirt.
    let ready = async {
        let held = host.port.hold(SilentSide::Here, AGENT_LIMIT).await?;
        let stopped = match accel {
            Accel::Kvm => None,
            Accel::Tcg => Some(stop(from, &source, deadline).await?),
        };
        Ok((held, stopped))
    };
    let (held, stopped) = match ready.await {
        Ok(ready) => ready,
        Err(fault) => {
            to.end().await;
            return Err(fault);
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
    let disk = (moved == MovedParts::MachineAndDisk).then(|| target_of(hardware));
    let moving = source.migrate((&target, disk.as_deref()), hardware, (&tap, &sockets), MOVE_LIMIT);
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

/// Stops a guest by libvirt. Returns QEMU's event; on failure the guest goes on.
async fn stop(emulator: &mut Emulator, domain: &Domain, deadline: Instant) -> Result<Event, Fault> {
    emulator.qmp.forget_events();
    domain.suspend().await?;
    match emulator.qmp.event(deadline, |event| event.name == "STOP").await {
        Ok(stopped) => Ok(stopped),
        Err(error) => {
            // A guest that cannot go on either is one that has ended.
            let _ = domain.resume().await;
            Err(failed("see that the guest has stopped", error))
        }
    }
}

/// Moves the guest to the waiting emulator. On failure that emulator is ended, and the guest continues where
/// it was.
async fn carry_over(
    host: &Host,
    from: &mut Emulator,
    (mut to, stream): (Emulator, UnixStream),
    way: &Way,
) -> Result<(Emulator, (Duration, u64)), Fault> {
    let carried = hand_over(host, &mut from.qmp, (&mut to.qmp, stream), way).await;
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
    host: &Host,
    from: &mut Qmp,
    (to, stream): (&mut Qmp, UnixStream),
    way: &Way,
) -> Result<(Duration, u64), Fault> {
    // All operations on sockets that can fail come before the guest moves.
    let (reading, writing) = both_halves(stream, &host.name)?;
    let held = host.port.hold(SilentSide::Here, AGENT_LIMIT).await?;
    let carried = match way.accel {
        Accel::Kvm => carry(from, to, way).await,
        Accel::Tcg => carry_at_rest(from, to, way).await,
    };
    let carried =
        carried.map_err(|error| failed(format!("move host `{}` to another emulator", host.name), error))?;
    held.go_on(reading, writing);
    Ok(carried)
}

/// Copies from one QEMU to another while the guest runs. Returns the standstill, and the bytes.
async fn carry(from: &mut Qmp, to: &mut Qmp, way: &Way) -> Result<(Duration, u64), QmpError> {
    let deadline = now() + MOVE_LIMIT;
    if let Some(disk) = &way.disk {
        disk.begin(from, to, deadline).await?;
    }
    begin_copy(from, to, way).await?;
    if let Some(disk) = &way.disk {
        // The guest has stopped, and the other one waits.
        from.event(deadline, |event| is_at(event, &["pre-switchover"])).await?;
        disk.finish(from, deadline).await?;
        from.execute("migrate-continue", json!({"state": "pre-switchover"})).await?;
    }
    let carried = end_copy(from, deadline).await?;
    if way.disk.is_some() {
        CarriedDisk::close(to).await?;
    }
    to.event(deadline, |event| event.name == "RESUME").await?;
    Ok(carried)
}

/// Copies while the guest is stopped, as an emulated one requires: QEMU before 9.0 can miss writes of an
/// emulated processor to memory that it is copying, and the guest's kernel then finds its data corrupted.
async fn carry_at_rest(from: &mut Qmp, to: &mut Qmp, way: &Way) -> Result<(Duration, u64), QmpError> {
    let deadline = now() + MOVE_LIMIT;
    if let Some(disk) = &way.disk {
        disk.begin(from, to, deadline).await?;
    }
    from.forget_events();
    from.execute("stop", json!({})).await?;
    let stopped = from.event(deadline, |event| event.name == "STOP").await?;
    if let Some(disk) = &way.disk {
        disk.finish(from, deadline).await?;
    }
    let at_rest = Way { disk: None, place: way.place.clone(), ..*way };
    begin_copy(from, to, &at_rest).await?;
    let (_, bytes) = end_copy(from, deadline).await?;
    if way.disk.is_some() {
        CarriedDisk::close(to).await?;
    }
    to.execute("cont", json!({})).await?;
    let resumed = to.event(deadline, |event| event.name == "RESUME").await?;
    Ok((resumed.at.saturating_sub(stopped.at), bytes))
}

/// Begins to copy memory and devices. With a disk, a running guest is stopped and waits before the last step.
async fn begin_copy(from: &mut Qmp, to: &mut Qmp, way: &Way) -> Result<(), QmpError> {
    let capability = |name: &str, state: bool| json!({"capability": name, "state": state});
    let capabilities =
        [capability("events", true), capability("pause-before-switchover", way.disk.is_some())];
    from.execute("migrate-set-capabilities", json!({ "capabilities": capabilities })).await?;
    let brakes = json!({"max-bandwidth": NO_BRAKE, "downtime-limit": LONGEST_STANDSTILL_MS});
    from.execute("migrate-set-parameters", brakes).await?;
    to.execute("migrate-incoming", json!({ "uri": way.place })).await?;
    from.forget_events();
    from.execute("migrate", json!({ "uri": way.place })).await.map(drop)
}

/// Waits for the end of the copy. Returns the standstill of a running guest, and the bytes.
async fn end_copy(from: &mut Qmp, deadline: Instant) -> Result<(Duration, u64), QmpError> {
    let event = from.event(deadline, |event| is_at(event, &["completed", "failed", "cancelled"])).await?;
    let figures = from.execute("query-migrate", json!({})).await?;
    if event.data["status"] != "completed" {
        return Err(QmpError::Failed(format!("the move ended as {figures}")));
    }
    let downtime = Duration::from_millis(figures["downtime"].as_u64().unwrap_or(0));
    Ok((downtime, figures["ram"]["transferred"].as_u64().unwrap_or(0)))
}

/// Whether an event tells one of these states of a move.
fn is_at(event: &Event, states: &[&str]) -> bool {
    event.name == "MIGRATION" && states.contains(&text(&event.data["status"]))
}
