//! Whether KVM can be used. It is tried, as on some machines it opens and its guests stand still.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use barograph_platform::{Fault, HERE, Readiness, Site, Unit, UnitHandle, ignore_lines};
use tokio::time::sleep;

use crate::cache::Cache;
use crate::clock::now;
use crate::emulator::QEMU;
use crate::host_commands::{HostCommands, failed};
use crate::initramfs::{HELLO, of_trial};
use crate::kernel::Kernel;
use crate::settings::{Accel, program};

/// Longest wait for the first output; with KVM a kernel takes a second or two.
const TRIAL_LIMIT: Duration = Duration::from_secs(8);

/// Interval between polls of the console of the trial.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Device of KVM.
const DEVICE: &str = "/dev/kvm";

/// Whether the device exists and can be opened.
pub(crate) fn kvm_opens() -> bool {
    fs::OpenOptions::new().read(true).write(true).open(DEVICE).is_ok()
}

/// Returns the name of a trial's result in the cache: another kernel may give another result.
fn known_as() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("kvm-{}", boot.trim()))
}

/// Whether a guest of this process has stood still. This is not cached in a file: the machine may have been
/// too busy, and the trial of another run may succeed. But all sites of one process are alike, and try only
/// once.
static STOOD_STILL: AtomicBool = AtomicBool::new(false);

/// Returns a known result: a success since the start of this machine, or a failure in this process.
pub(crate) fn known(cache: &Path) -> Option<Accel> {
    let said = known_as().and_then(|name| fs::read_to_string(cache.join(name)).ok());
    match said {
        Some(said) if said == Accel::Kvm.name() => Some(Accel::Kvm),
        _ => STOOD_STILL.load(Ordering::Relaxed).then_some(Accel::Tcg),
    }
}

/// Returns the fastest accelerator that works.
pub(crate) async fn choose(cache: &Cache, work: &HostCommands, kernel: &Kernel) -> Result<Accel, Fault> {
    if let Some(accel) = known(cache.folder()) {
        return Ok(accel);
    }
    if !kvm_opens() {
        return Ok(Accel::Tcg);
    }
    if !speaks(work, kernel).await? {
        STOOD_STILL.store(true, Ordering::Relaxed);
        return Ok(Accel::Tcg);
    }
    if let Some(name) = known_as() {
        let act = "keep what the trial of KVM said";
        let building = cache.build("trial")?;
        let made = building.path().join("says");
        fs::write(&made, Accel::Kvm.name()).map_err(|error| failed(act, error))?;
        building.finish(&made, &name)?;
        // The result of an earlier start of the machine is a file of three bytes.
        let _ = cache.refresh("kvm-", &name);
    }
    Ok(Accel::Kvm)
}

/// Boots a guest that only prints its greeting.
async fn speaks(work: &HostCommands, kernel: &Kernel) -> Result<bool, Fault> {
    let (archive, console) = (work.folder.join("trial.cpio"), work.folder.join("trial.console"));
    let (own, to) = (kernel.clone(), archive.clone());
    work.blocking("write the archive of the trial of KVM", move || fs::write(to, of_trial(&own)?)).await?;
    let mut unit = Unit::new("vm-trial", program(QEMU), Readiness::Runs);
    unit.host = HERE.to_owned();
    unit.log = work.folder.join("trial.log");
    let words =
        "-nodefaults -no-user-config -no-reboot -display none -machine q35 -accel kvm -cpu host -m 256M";
    unit.args = words.split(' ').map(str::to_owned).collect();
    unit.args.extend(["-kernel".to_owned(), kernel.image.display().to_string()]);
    unit.args.extend(["-initrd".to_owned(), archive.display().to_string()]);
    unit.args.extend(["-append", "console=ttyS0 quiet panic=-1"].map(str::to_owned));
    unit.args.extend(["-serial".to_owned(), format!("file:{}", console.display())]);
    let running = work.here.create(&unit, ignore_lines()).await?;
    let spoke = listen(&console, running.as_ref()).await;
    running.kill().await?;
    Ok(spoke)
}

async fn listen(console: &Path, running: &dyn UnitHandle) -> bool {
    let deadline = now() + TRIAL_LIMIT;
    let heard = || fs::read(console).is_ok_and(|text| String::from_utf8_lossy(&text).contains(HELLO));
    while now() < deadline {
        if heard() {
            return true;
        }
        if tokio::time::timeout(LOOK_EVERY, running.wait_exit()).await.is_ok() {
            return heard();
        }
        sleep(LOOK_EVERY).await;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_that_failed_is_known_to_this_process_and_one_that_went_well_to_all() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(there.path().join(known_as().unwrap()), Accel::Kvm.name()).unwrap();
        assert_eq!((known(here.path()), known(there.path())), (None, Some(Accel::Kvm)));
        STOOD_STILL.store(true, Ordering::Relaxed);
        assert_eq!((known(here.path()), known(there.path())), (Some(Accel::Tcg), Some(Accel::Kvm)));
    }
}
