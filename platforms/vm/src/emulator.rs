//! One QEMU process: its command line, start and end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::{Fault, HERE, HostSpec, OnLine, Readiness, Site, Unit, UnitHandle, ignore_lines};
use barograph_virtual_network::{Tap, enter};
use serde_json::json;
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};

use crate::clock::now;
use crate::host_commands::{HostCommands, failed};
use crate::libvirt::Domain;
use crate::qmp::Qmp;
use crate::settings::{Accel, Manager, memory_mib, of_emulator, processors, program};
use crate::wire::{PORT_NAME, causes};

/// Name of the program.
pub(crate) const QEMU: &str = "qemu-system-x86_64";

/// Longest wait for the socket of a started QEMU, which takes a tenth of a second, or more on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Interval between polls for a missing socket.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Longest wait for the end of a QEMU that was told to end.
const END_LIMIT: Duration = Duration::from_secs(10);

/// Longest wait for the end of an emulator whose sockets have closed, on a busy machine.
const LAST_WAIT: Duration = Duration::from_secs(15);

/// Lines shown of the output of a guest or its QEMU.
const SHOWN_LINES: usize = 15;

/// Command line of the kernel: no output during a normal boot, and no probing for hardware that virtual
/// machines lack.
const KERNEL_WORDS: &str = "console=ttyS0 quiet loglevel=3 panic=-1 mitigations=off audit=0 nowatchdog \
    random.trust_cpu=on edd=off raid=noautodetect rcupdate.rcu_expedited=1 cryptomgr.notests net.ifnames=0 \
    8250.nr_uarts=1 no_timer_check i8042.noaux";

/// Returns the command line of a guest's kernel.
pub(crate) fn kernel_words(accel: Accel) -> String {
    format!("{KERNEL_WORDS} {}", clock_words(accel))
}

/// Returns the words for the clock source of a guest. With KVM the guest learns the frequency of its time
/// stamp counter. An emulated guest measures it while it boots, and if many boot on few cores the result is
/// wrong: its clock then runs several times too fast, and so do all its deadlines. The power management timer
/// has a known frequency.
fn clock_words(accel: Accel) -> &'static str {
    match accel {
        Accel::Kvm => "tsc=reliable",
        Accel::Tcg => "tsc=unstable clocksource=acpi_pm",
    }
}

/// Hardware of a guest, the same in every QEMU that runs it.
#[derive(Clone, Debug)]
pub(crate) struct Hardware {
    pub(crate) host: HostSpec,
    pub(crate) accel: Accel,
    pub(crate) kernel: PathBuf,
    pub(crate) archive: PathBuf,
    /// Images for reading, in the order of its devices.
    pub(crate) images: Vec<PathBuf>,
    pub(crate) disk: Disk,
    /// Tags and sockets of folders shared with this machine.
    pub(crate) folders: Vec<(String, PathBuf)>,
    /// Its identity, the same wherever it runs.
    pub(crate) identity: String,
}

/// The writable disk of a guest: its file, and its name in QEMU.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub(crate) path: PathBuf,
    pub(crate) node: String,
}

/// Sockets of a QEMU, and the file for its console.
#[derive(Clone, Debug)]
pub(crate) struct Sockets {
    /// Its control.
    pub(crate) qmp: PathBuf,
    /// The agent's port.
    pub(crate) port: PathBuf,
    pub(crate) console: PathBuf,
}

/// A running QEMU.
pub(crate) struct Emulator {
    /// Its process, or that of the daemon whose child it is.
    pub(crate) running: Box<dyn UnitHandle>,
    pub(crate) qmp: Qmp,
    pub(crate) tap: Tap,
    /// The guest as libvirt knows it; `None` without libvirt.
    pub(crate) domain: Option<Domain>,
    sockets: Sockets,
    log: PathBuf,
}

/// A QEMU that has been started, or the daemon of one to come.
pub(crate) struct Launched {
    running: Box<dyn UnitHandle>,
    pub(crate) tap: Tap,
    pub(crate) sockets: Sockets,
    pub(crate) domain: Option<Domain>,
    host: String,
    log: PathBuf,
}

/// Start of a QEMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartMode {
    /// It boots a guest.
    Boot,
    /// It waits for a guest from another QEMU.
    Incoming,
}

impl Launched {
    /// Starts a QEMU, or a daemon that starts one unless a guest comes in. `tag` distinguishes it from others of
    /// the site.
    pub(crate) async fn start(
        work: &HostCommands,
        hardware: &Hardware,
        (tap, begin): (Tap, StartMode),
        (manager, tag): (Manager, &str),
    ) -> Result<Launched, Fault> {
        let place = |end: &str| work.folder.join(format!("{tag}.{end}"));
        let sockets = Sockets { qmp: place("qmp"), port: place("port"), console: place("console") };
        let (mut words, domain) = match manager {
            Manager::Qemu => {
                let mut words = enter(&tap.namespace);
                words.push(program(QEMU).to_string_lossy().into_owned());
                words.extend(arguments(hardware, &tap, &sockets));
                if begin == StartMode::Incoming {
                    words.extend(["-incoming", "defer"].map(str::to_owned));
                }
                (words, None)
            }
            Manager::Libvirt => {
                let (domain, words) = Domain::prepare(work, hardware, (&tap, tag))?;
                (words, Some(domain))
            }
        };
        let mut unit = Unit::new(&format!("vm-{tag}"), PathBuf::from(words.remove(0)), Readiness::Runs);
        unit.host = HERE.to_owned();
        unit.args = words;
        unit.log = place("qemu.log");
        unit.limits = of_emulator(&hardware.host);
        let quiet: OnLine = ignore_lines();
        let running = work.here.create(&unit, quiet).await?;
        let (log, host) = (unit.log, hardware.host.name.clone());
        let launched = Launched { running, tap, sockets, domain, host, log };
        match launched.begin(hardware, begin).await {
            Ok(()) => Ok(launched),
            Err(why) => Err(launched.given_up(why).await),
        }
    }

    /// Lets the daemon start the guest.
    async fn begin(&self, hardware: &Hardware, begin: StartMode) -> Result<(), String> {
        let Some(domain) = &self.domain else { return Ok(()) };
        tokio::select! {
            biased;
            answers = domain.daemon_answers(now() + START_LIMIT) => answers.map_err(|error| error.to_string())?,
            ended = self.running.wait_exit() => return Err(format!("its daemon ended: {ended}")),
        }
        match begin {
            StartMode::Incoming => Ok(()),
            StartMode::Boot => {
                let created = domain.create(hardware, (&self.tap, &self.sockets)).await;
                created.map_err(|fault| format!("{fault}: {}", causes(&fault)))
            }
        }
    }

    /// Connects to its control and to the agent's port.
    pub(crate) async fn connect(self) -> Result<(Emulator, UnixStream), Fault> {
        let deadline = now() + START_LIMIT;
        let connected = async {
            let qmp = Qmp::connect(&self.sockets.qmp, deadline).await.map_err(|error| error.to_string())?;
            let port = connect(&self.sockets.port, deadline).await.map_err(|error| error.to_string())?;
            Ok::<_, String>((qmp, port))
        };
        let connected = tokio::select! {
            biased;
            connected = connected => connected,
            ended = self.running.wait_exit() => Err(format!("it ended: {ended}")),
        };
        match connected {
            Ok((qmp, port)) => {
                let Launched { running, tap, sockets, domain, log, .. } = self;
                let log = domain.as_ref().map_or(log, Domain::log);
                Ok((Emulator { running, qmp, tap, domain, sockets, log }, port))
            }
            Err(why) => Err(self.given_up(why).await),
        }
    }

    /// Ends it.
    pub(crate) async fn end(&self) {
        // A process that cannot be ended stays in the ledger.
        let _ = self.running.kill().await;
    }

    /// Ends it, and returns the fault with its last output.
    async fn given_up(self, why: String) -> Fault {
        self.end().await;
        let of_guest = self.domain.map_or_else(String::new, |domain| said("QEMU", &domain.log()));
        let why = format!("{why}{}{of_guest}", said("its process", &self.log));
        failed(format!("start QEMU for host `{}`", self.host), why)
    }
}

impl Emulator {
    /// Connects to the control of another QEMU in its place, and to the agent's port there.
    pub(crate) async fn connect_again(&mut self) -> Result<UnixStream, Fault> {
        let deadline = now() + START_LIMIT;
        let act = "reach the new QEMU";
        self.qmp = Qmp::connect(&self.sockets.qmp, deadline).await.map_err(|error| failed(act, error))?;
        connect(&self.sockets.port, deadline).await.map_err(|error| failed(act, error))
    }

    /// Ends it if it has not ended, and describes its end and last output for a fault.
    pub(crate) async fn last_words(mut self) -> String {
        // The daemon of a guest does not end with it.
        let own = self.domain.is_none().then(|| self.running.wait_exit());
        let end = match own {
            None => String::new(),
            Some(exit) => match tokio::time::timeout(LAST_WAIT, exit).await {
                Ok(ended) => format!("; its QEMU: {ended}"),
                Err(_) => "; its QEMU went on".to_owned(),
            },
        };
        // QEMU reports the reason before it closes its connection; a killed one reports nothing.
        let told = self.qmp.event(now() + LAST_WAIT, |event| event.name == "SHUTDOWN").await;
        // A process that cannot be ended stays in the ledger.
        let _ = self.running.kill().await;
        let why = match told.as_ref().map(|event| event.data["reason"].as_str()) {
            Ok(Some(reason)) => format!(", because of {reason}"),
            _ => String::new(),
        };
        format!("{end}{why}{}{}", said("its console", &self.sockets.console), said("QEMU", &self.log))
    }

    /// Tells it to end at once, and kills it if it does not.
    pub(crate) async fn quit(mut self) -> Result<(), Fault> {
        if let Some(domain) = &self.domain {
            // The guest may have ended or moved; all that is left ends with the daemon's unit.
            let _ = domain.destroy().await;
            return self.running.kill().await.map(drop);
        }
        // It may close the connection before it answers.
        let _ = self.qmp.execute("quit", json!({})).await;
        if tokio::time::timeout(END_LIMIT, self.running.wait_exit()).await.is_err() {
            self.running.kill().await?;
        }
        Ok(())
    }

    /// Waits until the guest has turned itself off; otherwise ends its QEMU.
    pub(crate) async fn went_off(mut self, limit: Duration) -> Result<(), Fault> {
        if self.domain.is_some() {
            // Its control closes with it.
            let _ = self.qmp.event(now() + limit, |_| false).await;
            return self.quit().await;
        }
        match tokio::time::timeout(limit, self.running.wait_exit()).await {
            Ok(_) => Ok(()),
            Err(_) => self.quit().await,
        }
    }
}

pub(crate) async fn connect(path: &Path, deadline: Instant) -> std::io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(_) if now() < deadline => sleep(LOOK_EVERY).await,
            other => return other,
        }
    }
}

/// Returns the last lines of an output, one below another.
fn said(who: &str, path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    if last.is_empty() {
        format!("\n{who} said nothing")
    } else {
        format!("\n{who} said last:\n  {}", last.join("\n  "))
    }
}

/// Returns the arguments of the program.
fn arguments(hardware: &Hardware, tap: &Tap, sockets: &Sockets) -> Vec<String> {
    let Sockets { qmp, port, console } = sockets;
    let Hardware { host, accel, kernel, archive, images, disk, folders, .. } = hardware;
    let memory = memory_mib(host);
    let kernel_words = kernel_words(*accel);
    let (cpu, accel) = match accel {
        Accel::Kvm => ("host", "kvm"),
        // Emulated five-level page tables occasionally reset a booting guest, without a message (QEMU issue
        // 1023).
        Accel::Tcg => ("max,la57=off", "tcg,thread=multi"),
    };
    let backend = if folders.is_empty() { "" } else { ",memory-backend=ram" };
    let mut words: Vec<String> = Vec::new();
    let mut say = |option: &str, value: String| words.extend([option.to_owned(), value]);
    say("-name", host.name.clone());
    say("-machine", format!("q35,hpet=off,smbus=off,sata=off,vmport=off{backend}"));
    say("-accel", accel.to_owned());
    say("-cpu", cpu.to_owned());
    say("-smp", processors(host).to_string());
    say("-m", format!("{memory}M"));
    if !folders.is_empty() {
        say("-object", format!("memory-backend-memfd,id=ram,size={memory}M,share=on"));
    }
    say("-display", "none".to_owned());
    say("-kernel", comma(kernel));
    say("-initrd", comma(archive));
    say("-append", kernel_words);
    say("-serial", format!("file:{}", console.display()));
    say("-qmp", format!("unix:{},server=on,wait=off", comma(qmp)));
    say("-device", "virtio-serial-pci,id=ports".to_owned());
    say("-chardev", format!("socket,id=agent,path={},server=on,wait=off", comma(port)));
    say("-device", format!("virtserialport,bus=ports.0,chardev=agent,name={PORT_NAME}"));
    say("-netdev", format!("tap,id=net,ifname={},script=no,downscript=no", tap.device));
    say("-device", format!("virtio-net-pci,netdev=net,mac={},romfile=", tap.mac));
    for (number, image) in images.iter().enumerate() {
        let file = json!({"driver": "file", "filename": image});
        let node =
            json!({"driver": "raw", "node-name": format!("image{number}"), "read-only": true, "file": file});
        say("-blockdev", node.to_string());
        say("-device", format!("virtio-blk-pci,drive=image{number}"));
    }
    let file = json!({"driver": "file", "filename": disk.path});
    let node = json!({"driver": "qcow2", "node-name": disk.node, "discard": "unmap", "file": file});
    say("-blockdev", node.to_string());
    say("-device", format!("virtio-blk-pci,id=disk,drive={}", disk.node));
    for (tag, socket) in folders {
        say("-chardev", format!("socket,id={tag},path={}", comma(socket)));
        say("-device", format!("vhost-user-fs-pci,chardev={tag},tag={tag}"));
    }
    words.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(str::to_owned));
    words
}

/// Doubles commas in a path, as they separate options.
fn comma(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

/// A guest with two images and its tap, for tests.
#[cfg(test)]
pub(crate) fn example() -> (Hardware, Tap) {
    use barograph_platform::Limits;

    let hardware = Hardware {
        host: HostSpec {
            name: "db".to_owned(),
            limits: Limits { cpus: Some(1.5), memory_bytes: Some(768 << 20), ..Limits::default() },
            ..HostSpec::default()
        },
        accel: Accel::Tcg,
        kernel: PathBuf::from("/c/vmlinuz"),
        archive: PathBuf::from("/c/a,b"),
        images: ["/c/programs", "/c/shared"].map(PathBuf::from).to_vec(),
        disk: Disk { path: PathBuf::from("/s/disk"), node: "disk0".to_owned() },
        folders: Vec::new(),
        identity: "9d0d1a5c-0000-4000-8000-000000000000".to_owned(),
    };
    let tap = Tap {
        name: "db".to_owned(),
        namespace: "bg-x".to_owned(),
        device: "t0".to_owned(),
        address: "10.1.2.3".parse().expect("an address"),
        prefix: 24,
        gateway: "10.1.2.1".parse().expect("an address"),
        mac: "02:00:00:00:00:01".to_owned(),
    };
    (hardware, tap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_has_the_devices_in_order() {
        let (mut hardware, tap) = example();
        let [qmp, port, console] = ["q", "p", "c"].map(PathBuf::from);
        let sockets = Sockets { qmp, port, console };
        let words = |hardware: &Hardware| arguments(hardware, &tap, &sockets).join(" ");
        let line = words(&hardware);
        for part in
            ["-smp 2 -m 768M", "-initrd /c/a,,b", "-accel tcg", "-cpu max,la57=off", "ifname=t0,", "mac=02:"]
        {
            assert!(line.contains(part), "{part} is not in {line}");
        }
        let at = |text: &str| line.find(text).unwrap();
        assert!(at("drive=image0") < at("drive=image1") && at("drive=image1") < at("drive=disk0"));
        assert!(!line.contains("memfd"));
        hardware.folders.push(("w0".to_owned(), PathBuf::from("/s/w0")));
        let line = words(&hardware);
        assert!(line.contains("memory-backend=ram") && line.contains("size=768M,share=on"), "{line}");
        assert!(line.contains("vhost-user-fs-pci,chardev=w0,tag=w0"), "{line}");
    }
}
