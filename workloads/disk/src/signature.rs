//! Signatures of file systems, partition tables, volumes and arrays: marks of a disk that is in use.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Something that marks a disk.
struct Signature {
    name: &'static str,
    /// Bytes from the beginning.
    at: &'static [u64],
    magic: &'static [u8],
}

const fn signature(name: &'static str, at: &'static [u64], magic: &'static [u8]) -> Signature {
    Signature { name, at, magic }
}

/// What is known by bytes at fixed places.
const KNOWN: &[Signature] = &[
    signature("a partition table (GPT)", &[512, 4_096], b"EFI PART"),
    signature("an XFS file system", &[0], b"XFSB"),
    signature("a Btrfs file system", &[65_600], b"_BHRfS_M"),
    signature("an F2FS file system", &[1_024], &[0x10, 0x20, 0xf5, 0xf2]),
    signature("an NTFS file system", &[3], b"NTFS    "),
    signature("an exFAT file system", &[3], b"EXFAT   "),
    signature("a FAT file system", &[82], b"FAT32   "),
    signature("a FAT file system", &[54], b"FAT16   "),
    signature("a FAT file system", &[54], b"FAT12   "),
    signature("an APFS container", &[32], b"NXSB"),
    signature("a JFS file system", &[32_768], b"JFS1"),
    signature("a ReiserFS file system", &[8_244, 65_588], b"ReIsEr"),
    signature("an ISO 9660 file system", &[32_769], b"CD001"),
    signature("a SquashFS image", &[0], b"hsqs"),
    signature("an EROFS image", &[1_024], &[0xe2, 0xe1, 0xf5, 0xe0]),
    signature("a physical volume of LVM", &[0, 512, 1_024, 1_536], b"LABELONE"),
    signature("an encrypted volume (LUKS)", &[0, 16_384], b"LUKS\xba\xbe"),
    signature("swap space", &[4_086, 8_182, 16_374, 32_758, 65_526], b"SWAPSPACE2"),
    signature("swap space", &[4_086, 8_182, 16_374, 32_758, 65_526], b"SWAP-SPACE"),
    signature("a member of a RAID array (md)", &[0, 4_096], &[0xfc, 0x4e, 0x2b, 0xa9]),
    signature("a cache or file system of bcache", &[4_120], &[0xc6, 0x85, 0x73, 0xf6]),
    signature("a disk of Ceph", &[0], b"bluestore block device"),
    signature("a disk of Oracle ASM", &[32], b"ORCLDISK"),
    signature("a disk image (QCOW)", &[0], b"QFI\xfb"),
];

/// Labels of ZFS begin here; in each of them, in steps of 1 KiB, may stand a block that names the pool.
const ZFS: (u64, u64) = (128 * 1024, 256 * 1024);

/// What a target holds, as far as it is known; `None` where nothing is.
///
/// # Errors
/// It cannot be read.
pub(crate) fn find(file: &File, length: u64) -> io::Result<Option<&'static str>> {
    for Signature { name, at, magic } in KNOWN {
        for place in *at {
            if bytes(file, *place, magic.len())? == *magic {
                return Ok(Some(name));
            }
        }
    }
    if is_ext(file)? {
        return Ok(Some("an ext2, ext3 or ext4 file system"));
    }
    if is_mbr(file)? {
        return Ok(Some("a partition table or boot sector (MBR)"));
    }
    if is_raid_at_the_end(file, length)? {
        return Ok(Some("a member of a RAID array (md)"));
    }
    Ok(is_zfs(file)?.then_some("a ZFS pool"))
}

/// Bytes of a target; fewer at its end.
fn bytes(file: &File, at: u64, count: usize) -> io::Result<Vec<u8>> {
    let mut all = vec![0; count];
    let mut have = 0;
    while have < count {
        match file.read_at(&mut all[have..], at + have as u64)? {
            0 => break,
            more => have += more,
        }
    }
    all.truncate(have);
    Ok(all)
}

/// A magic number of two bytes, and a plausible size of blocks: two bytes alone would be found in random data.
fn is_ext(file: &File) -> io::Result<bool> {
    let super_block = bytes(file, 1_024, 64)?;
    let size_of_blocks = |block: &[u8]| block[24] <= 6 && block[25..28] == [0; 3];
    Ok(super_block.len() == 64 && super_block[56..58] == [0x53, 0xef] && size_of_blocks(&super_block))
}

/// The mark at the end of the first sector, and four entries that are active or not, and nothing else.
fn is_mbr(file: &File) -> io::Result<bool> {
    let sector = bytes(file, 0, 512)?;
    let is_plausible = |sector: &[u8]| (446..510).step_by(16).all(|entry| sector[entry] & 0x7f == 0);
    Ok(sector.len() == 512 && sector[510..] == [0x55, 0xaa] && is_plausible(&sector))
}

/// Formats 0.90 and 1.0 keep what they know at the end.
fn is_raid_at_the_end(file: &File, length: u64) -> io::Result<bool> {
    const MAGIC: [u8; 4] = [0xfc, 0x4e, 0x2b, 0xa9];
    let old = (length & !0xffff).checked_sub(0x1_0000);
    let new = (length / 512).checked_sub(16).map(|sector| (sector & !7) * 512);
    for at in [old, new].into_iter().flatten() {
        if bytes(file, at, 4)? == MAGIC {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_zfs(file: &File) -> io::Result<bool> {
    let label = bytes(file, ZFS.0, (ZFS.1 - ZFS.0) as usize)?;
    let number =
        |block: &[u8]| block.get(..8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    Ok(label.chunks(1_024).any(|block| number(block) == Some(0x00ba_b10c)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Contents;

    const LENGTH: usize = 1 << 20;

    /// What is found in a file of zeros, or of random bytes, with something written to it.
    fn found(random: bool, writes: &[(u64, &[u8])]) -> Option<&'static str> {
        let file = tempfile::tempfile().unwrap();
        let mut all = vec![0; LENGTH];
        if random {
            Contents::new(1.0).fill(&mut all, 3);
        }
        file.write_all_at(&all, 0).unwrap();
        writes.iter().for_each(|(at, what)| file.write_all_at(what, *at).unwrap());
        find(&file, LENGTH as u64).unwrap()
    }

    #[test]
    fn nothing_is_found_in_zeros_and_in_random_bytes() {
        assert_eq!((found(false, &[]), found(true, &[])), (None, None));
        let short = tempfile::tempfile().unwrap();
        short.write_all_at(b"abc", 0).unwrap();
        assert_eq!(find(&short, 3).unwrap(), None);
    }

    #[test]
    fn every_known_mark_is_found() {
        for Signature { name, at, magic } in KNOWN {
            for place in *at {
                assert_eq!(found(false, &[(*place, magic)]), Some(*name), "at {place}");
            }
        }
    }

    #[test]
    fn marks_with_more_than_a_magic_number_are_found() {
        assert_eq!(found(false, &[(1_080, &[0x53, 0xef])]), Some("an ext2, ext3 or ext4 file system"));
        let mbr = Some("a partition table or boot sector (MBR)");
        assert_eq!(found(false, &[(510, &[0x55, 0xaa])]), mbr);
        assert_eq!(found(false, &[(446, &[0x80, 1, 1, 0, 0x83]), (510, &[0x55, 0xaa])]), mbr);
        let raid = Some("a member of a RAID array (md)");
        for at in [LENGTH as u64 - 65_536, LENGTH as u64 - 8_192] {
            assert_eq!(found(false, &[(at, &[0xfc, 0x4e, 0x2b, 0xa9])]), raid);
        }
        let uberblock = 0x00ba_b10c_u64.to_le_bytes();
        assert_eq!(found(false, &[(ZFS.0 + 4_096, &uberblock)]), Some("a ZFS pool"));
    }

    #[test]
    fn random_bytes_with_a_short_magic_number_are_not_taken_for_one() {
        assert_eq!(found(true, &[(1_080, &[0x53, 0xef]), (510, &[0x55, 0xaa])]), None);
    }

    #[test]
    fn a_real_file_system_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        std::fs::write(&path, vec![0; 4 << 20]).unwrap();
        let made = std::process::Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&path).status();
        if !made.is_ok_and(|made| made.success()) {
            return crate::tests::skip("no mkfs.ext4");
        }
        let file = File::open(&path).unwrap();
        assert_eq!(find(&file, 4 << 20).unwrap(), Some("an ext2, ext3 or ext4 file system"));
    }
}
