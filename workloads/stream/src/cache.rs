//! The size of the caches of this machine, as the system tells it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Where the system describes its processors.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// Bytes of all caches of the last level together; `None` where the system does not tell.
pub(crate) fn last_level_bytes() -> Option<u64> {
    last_level_below(Path::new(PROCESSORS))
}

fn last_level_below(processors: &Path) -> Option<u64> {
    // Processors that share a cache tell the same list of processors.
    let mut caches: BTreeSet<(u64, String, u64)> = BTreeSet::new();
    for processor in fs::read_dir(processors).ok()?.flatten() {
        let Ok(indices) = fs::read_dir(processor.path().join("cache")) else { continue };
        for index in indices.flatten() {
            let word =
                |name| fs::read_to_string(index.path().join(name)).ok().map(|text| text.trim().to_owned());
            let found = (|| {
                let level = word("level")?.parse().ok()?;
                Some((level, word("shared_cpu_list")?, bytes(&word("size")?)?))
            })();
            caches.extend(found);
        }
    }
    let last = caches.iter().next_back()?.0;
    Some(caches.iter().filter(|(level, ..)| *level == last).map(|(.., bytes)| bytes).sum())
}

/// As in `32768K`.
fn bytes(text: &str) -> Option<u64> {
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let found = units.into_iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
    let (number, shift) = found.unwrap_or((text, 0));
    Some(number.parse::<u64>().ok()? << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_of_the_last_level_are_added_up_once_each() {
        let folder = tempfile::tempdir().unwrap();
        for processor in 0..4 {
            let shared = if processor < 2 { "0-1" } else { "2-3" };
            for (index, level, list, size) in
                [(0, 1, processor.to_string(), "32K"), (3, 3, shared.to_owned(), "16M")]
            {
                let of = folder.path().join(format!("cpu{processor}/cache/index{index}"));
                fs::create_dir_all(&of).unwrap();
                fs::write(of.join("level"), format!("{level}\n")).unwrap();
                fs::write(of.join("shared_cpu_list"), list).unwrap();
                fs::write(of.join("size"), size).unwrap();
            }
        }
        assert_eq!(last_level_below(folder.path()), Some(32 << 20));
        assert_eq!(last_level_below(&folder.path().join("none")), None);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            [bytes("32K"), bytes("1M"), bytes("7"), bytes("x")],
            [Some(32 << 10), Some(1 << 20), Some(7), None]
        );
    }
}
