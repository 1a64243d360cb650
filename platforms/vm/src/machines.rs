//! Operations on running guests: move, copy, save and restore. After each the guest continues; only a
//! restored guest loses its connections.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use barograph_platform::{BoxFuture, Fault, MachineOperation, Machines};
use serde_json::{Value, json};

use crate::clock::now;
use crate::emulator::{Disk, Emulator};
use crate::host::{Host, HostState};
use crate::host_commands::failed;
use crate::libvirt::target_of;
use crate::moves::{self, MovedParts};
use crate::qmp::{Event, Qmp, QmpError};
use crate::site::VmSite;
use crate::snapshots;
use crate::wire::AgentCommand;

/// Longest move: a guest of a few gigabytes that writes much.
pub(crate) const MOVE_LIMIT: Duration = Duration::from_secs(300);

/// Longest wait for the agent to answer, or to sync the guest's file systems.
pub(crate) const AGENT_LIMIT: Duration = Duration::from_secs(60);

impl Machines for VmSite {
    fn migrate<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        Box::pin(async move { moves::migrate(self, &*self.machine(host)?, MovedParts::Machine).await })
    }

    fn relocate<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        Box::pin(async move { moves::migrate(self, &*self.machine(host)?, MovedParts::MachineAndDisk).await })
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
