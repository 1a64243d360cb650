//! Loop devices, where root may make them: what is not named twice, or is used or signed, is left alone.

use std::path::PathBuf;
use std::process::Command;

use super::*;

const BYTES: usize = 4 << 20;

/// A loop device on an image of zeros, detached when it is dropped.
struct Loop {
    device: PathBuf,
    image: PathBuf,
    folder: TempDir,
}

impl Loop {
    /// `None`, and a message, where there can be none.
    fn new(image: impl FnOnce(&Path)) -> Option<Loop> {
        // Not in memory, which has no direct access.
        let folder = direct_folder().or_else(|| tempfile::tempdir().ok())?;
        let path = folder.path().join("image");
        std::fs::write(&path, vec![0; BYTES]).unwrap();
        image(&path);
        let made = Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(&path).output();
        let Some(made) = made.ok().filter(|made| made.status.success()) else {
            skip("no loop device can be made here (it needs root and losetup)");
            return None;
        };
        let device = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
        Some(Loop { device, image: path, folder })
    }

    fn load(&self, again: bool, more: &str) -> Load {
        let again = if again {
            format!("disk.device_again = \"{}\"\n", self.device.display())
        } else {
            String::new()
        };
        Load::of(&self.device, &format!("disk.engine = \"threads\"\ndisk.direct = false\n{again}{more}"))
    }

    /// Nothing of the device was changed.
    fn assert_untouched(&self, load: &Load, part: &str) {
        let before = std::fs::read(&self.device).unwrap();
        let refused = load.refused();
        assert!(refused.starts_with("target.url") && refused.contains(part), "{refused}");
        assert!(load.fill().unwrap().is_err() && load.workload.load(&load.job()).is_err());
        assert!(std::fs::read(&self.device).unwrap() == before, "it was written to");
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

#[test]
fn a_device_is_named_twice() {
    let Some(device) = Loop::new(|_| ()) else { return };
    device.assert_untouched(&device.load(false, ""), "devices are named twice");
    let wrong = device.load(false, "disk.device_again = \"/dev/null\"\n");
    device.assert_untouched(&wrong, "devices are named twice");
    let reads = device.load(false, "disk.mix.Read = 1\n");
    assert_eq!(reads.refused(), "");
    assert!(reads.fill().is_none());
    reads.load(200).assert_clean();
    let image = std::fs::read(&device.image).unwrap();
    assert!(image.iter().all(|byte| *byte == 0));
}

#[test]
fn an_empty_device_is_filled_and_loaded() {
    let Some(device) = Loop::new(|_| ()) else { return };
    for _ in 0..2 {
        let load = device.load(true, "disk.verify = true\n");
        assert_eq!(load.refused(), "");
        load.run(500).assert_clean();
    }
    let small = device.load(true, "disk.size = \"8m\"\n");
    assert!(small.refused().contains("smaller than disk.size"));
}

#[test]
fn a_device_with_a_signature_is_left_alone() {
    let marks: [(usize, &[u8], &str); 4] = [
        (1_080, &[0x53, 0xef], "ext4"),
        (512, b"EFI PART", "GPT"),
        (512, b"LABELONE", "LVM"),
        (65_600, b"_BHRfS_M", "Btrfs"),
    ];
    for (at, magic, name) in marks {
        let write = |path: &Path| {
            let mut bytes = vec![0; BYTES];
            bytes[at..at + magic.len()].copy_from_slice(magic);
            std::fs::write(path, bytes).unwrap();
        };
        let Some(device) = Loop::new(write) else { return };
        device.assert_untouched(&device.load(true, ""), name);
    }
}

/// One partition of 100 sectors, in a table that any system reads.
fn partitioned(path: &Path) {
    let mut bytes = vec![0; BYTES];
    bytes[450] = 0x83;
    bytes[454..458].copy_from_slice(&2_048_u32.to_le_bytes());
    bytes[458..462].copy_from_slice(&100_u32.to_le_bytes());
    bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_partitioned_device_is_left_alone() {
    let Some(device) = Loop::new(partitioned) else { return };
    let name = device.device.file_name().unwrap().to_str().unwrap();
    // A kernel may not know the table; then its bytes are found.
    let is_known = Path::new(&format!("/sys/block/{name}/{name}p1")).exists();
    let part = if is_known { format!("has partitions ({name}p1)") } else { "MBR".to_owned() };
    device.assert_untouched(&device.load(true, ""), &part);
    // The table is gone, but the kernel still knows the partition.
    if is_known {
        let image = std::fs::File::options().write(true).open(&device.device).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&image, &[0; 512], 0).unwrap();
        device.assert_untouched(&device.load(true, ""), &part);
    }
}

#[test]
fn a_mounted_device_is_left_alone() {
    let mkfs = |path: &Path| drop(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(path).status());
    let Some(device) = Loop::new(mkfs) else { return };
    let at = device.folder.path().join("mounted");
    std::fs::create_dir(&at).unwrap();
    let mounted = Command::new("mount").arg("-o").arg("ro").arg(&device.device).arg(&at).status();
    if !mounted.is_ok_and(|mounted| mounted.success()) {
        return skip("nothing can be mounted here");
    }
    let load = device.load(true, "");
    let refused = load.refused();
    let filled = load.fill().unwrap();
    drop(Command::new("umount").arg(&at).status());
    assert!(refused.contains("is mounted, or in use"), "{refused}");
    assert!(filled.is_err());
    device.assert_untouched(&device.load(true, ""), "ext4");
}

#[test]
fn a_file_of_ours_that_is_the_image_of_a_device_is_left_alone() {
    let make = |path: &Path| {
        std::fs::remove_file(path).unwrap();
        let load = Load::of(path, "disk.engine = \"threads\"\ndisk.direct = false\n");
        load.fill().unwrap().unwrap();
    };
    let Some(device) = Loop::new(make) else { return };
    let load = Load::of(&device.image, "disk.engine = \"threads\"\ndisk.direct = false\n");
    let refused = load.refused();
    assert!(refused.contains(&format!("is the image of {}", device.device.display())), "{refused}");
}
