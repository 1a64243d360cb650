//! Description of a guest in the form of libvirt.

use std::path::Path;

use barograph_virtual_network::Tap;
use quick_xml::escape::escape;

use crate::emulator::{Hardware, QEMU, Sockets, kernel_words};
use crate::libvirt::target_of;
use crate::settings::{Accel, memory_mib, processors, program};
use crate::wire::PORT_NAME;

/// Slot of the first device on the bus; those before are the chipset's.
const FIRST_SLOT: u32 = 2;

/// A guest with the devices that it has without libvirt, in the same order on the bus.
///
/// The additional control socket reports when its processors stop and go on; libvirt has one of its own.
pub(crate) fn domain_xml(hardware: &Hardware, (tap, sockets): (&Tap, &Sockets)) -> String {
    let Hardware { host, accel, kernel, archive, images, disk, folders, identity } = hardware;
    let kind = match accel {
        Accel::Kvm => "kvm",
        Accel::Tcg => "qemu",
    };
    let mut text = String::new();
    let mut line = |words: &str| {
        text.push_str(words);
        text.push('\n');
    };
    line(&format!("<domain type='{kind}' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"));
    line(&format!("<name>{}</name><uuid>{identity}</uuid>", escape(&host.name)));
    line(&format!("<memory unit='MiB'>{}</memory><vcpu>{}</vcpu>", memory_mib(host), processors(host)));
    if !folders.is_empty() {
        line("<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>");
    }
    line(&format!("<os><type arch='x86_64' machine='q35'>hvm</type><kernel>{}</kernel>", path(kernel)));
    line(&format!(
        "<initrd>{}</initrd><cmdline>{}</cmdline></os>",
        path(archive),
        escape(kernel_words(*accel))
    ));
    line("<features><acpi/><apic/><vmport state='off'/></features>");
    line(match accel {
        Accel::Kvm => "<cpu mode='host-passthrough'/>",
        // As without libvirt: emulated five-level page tables occasionally reset a booting guest.
        Accel::Tcg => "<cpu mode='maximum'><feature policy='disable' name='la57'/></cpu>",
    });
    line("<clock offset='utc'><timer name='hpet' present='no'/></clock>");
    line("<on_poweroff>destroy</on_poweroff><on_reboot>destroy</on_reboot><on_crash>destroy</on_crash>");
    line(&format!("<devices><emulator>{}</emulator>", path(&program(QEMU))));
    line("<controller type='usb' model='none'/><memballoon model='none'/>");
    line("<video><model type='none'/></video>");
    let mut slot = FIRST_SLOT;
    let mut place = || {
        slot += 1;
        format!("<address type='pci' domain='0' bus='0' slot='{}' function='0'/>", slot - 1)
    };
    line(&format!("<controller type='virtio-serial' index='0'>{}</controller>", place()));
    line(&format!(
        "<interface type='ethernet'><target dev='{}' managed='no'/><mac address='{}'/>",
        tap.device, tap.mac
    ));
    line(&format!("<model type='virtio'/><rom enabled='no'/>{}</interface>", place()));
    let raw = images.iter().map(|image| (image, "type='raw'", "<readonly/><shareable/>"));
    let own = [(&disk.path, "type='qcow2' discard='unmap'", "")];
    for ((file, form, more), target) in raw.chain(own).zip('a'..='z') {
        line(&format!(
            "<disk type='file' device='disk'><driver name='qemu' {form}/><source file='{}'/>",
            path(file)
        ));
        line(&format!("<target dev='vd{target}' bus='virtio'/>{more}{}</disk>", place()));
    }
    for (tag, socket) in folders {
        line(&format!(
            "<filesystem type='mount'><driver type='virtiofs'/><source socket='{}'/>",
            path(socket)
        ));
        line(&format!("<target dir='{tag}'/>{}</filesystem>", place()));
    }
    line(&format!("<serial type='file'><source path='{}'/></serial>", path(&sockets.console)));
    line(&format!("<channel type='unix'><source mode='bind' path='{}'/>", path(&sockets.port)));
    line(&format!("<target type='virtio' name='{PORT_NAME}'/></channel></devices>"));
    let control = format!("unix:{},server=on,wait=off", sockets.qmp.display());
    line(&format!(
        "<qemu:commandline><qemu:arg value='-qmp'/><qemu:arg value='{}'/></qemu:commandline>",
        escape(control)
    ));
    line("</domain>");
    debug_assert!(text.contains(&format!("dev='{}'", target_of(hardware))));
    text
}

fn path(path: &Path) -> String {
    escape(path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::emulator::example;

    #[test]
    fn a_domain_has_the_devices_in_order_and_its_text_is_escaped() {
        let (mut hardware, tap) = example();
        hardware.archive = PathBuf::from("/c/a&b");
        hardware.folders.push(("w0".to_owned(), PathBuf::from("/s/w0")));
        let [qmp, port, console] = ["/s/q", "/s/p", "/s/c"].map(PathBuf::from);
        let text = domain_xml(&hardware, (&tap, &Sockets { qmp, port, console }));
        for part in [
            "<domain type='qemu'",
            "<name>db</name><uuid>9d0d1a5c-0000-4000-8000-000000000000</uuid>",
            "<memory unit='MiB'>768</memory><vcpu>2</vcpu>",
            "<initrd>/c/a&amp;b</initrd>",
            "<target dev='t0' managed='no'/><mac address='02:00:00:00:00:01'/>",
            "<source socket='/s/w0'/>",
            "value='unix:/s/q,server=on,wait=off'",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let at = |part: &str| text.find(part).unwrap();
        assert!(at("/c/programs") < at("/c/shared") && at("/c/shared") < at("/s/disk"), "{text}");
        assert_eq!((target_of(&hardware).as_str(), text.matches("slot='").count()), ("vdc", 6));
    }
}
