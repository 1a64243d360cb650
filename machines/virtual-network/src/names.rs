//! Names of namespaces and devices.

use crate::SwitchError;

/// Longest name of a site.
const LONGEST_ID: usize = 24;

/// Longest name of a host: the name of a device has at most 15 characters, and three of them distinguish its
/// devices.
const LONGEST_HOST: usize = 12;

/// Name of the bridge.
pub(crate) const MAIN: &str = "main";

/// Name of the leg's end on the bridge.
pub(crate) const LEG: &str = "leg";

/// The only device of a host.
pub const HOST_DEVICE: &str = "eth0";

/// Checks the name of a site.
pub(crate) fn check_id(id: &str) -> Result<(), SwitchError> {
    check(id, LONGEST_ID, "a site's name has 24 characters at the most")
}

/// Checks the name of a host or tap.
pub(crate) fn check_host(name: &str) -> Result<(), SwitchError> {
    check(name, LONGEST_HOST, "a host's name has 12 characters at the most")
}

fn check(name: &str, longest: usize, too_long: &'static str) -> Result<(), SwitchError> {
    let refuse = |why| Err(SwitchError::Name { name: name.to_owned(), why });
    if name.is_empty() {
        return refuse("it is empty");
    }
    if name.len() > longest {
        return refuse(too_long);
    }
    let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !name.bytes().all(fine) || name.starts_with('-') {
        return refuse("it has lower-case letters, digits and `-`, and does not begin with `-`");
    }
    Ok(())
}

/// Returns the namespace of the bridge of a site.
pub(crate) fn switch_namespace(id: &str) -> String {
    format!("bg-{id}")
}

/// Returns the namespace of a host of a site.
pub(crate) fn host_namespace(id: &str, host: &str) -> String {
    format!("bg-{id}-{host}")
}

/// Returns the machine's end of the leg. It is the only device outside of the site's namespaces, so its name
/// must distinguish sites.
#[must_use]
pub fn leg_device(id: &str) -> String {
    format!("bg{:012x}", hash(id) & 0xffff_ffff_ffff)
}

/// FNV-1a: stable across machines and versions, as names need; not for secrets.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_the_kernels() {
        let longest = "a".repeat(12);
        assert!(check_host(&longest).is_ok() && check_host(&format!("{longest}a")).is_err());
        assert!(check_id(&"a".repeat(24)).is_ok() && check_id(&"a".repeat(25)).is_err());
        for bad in ["", "-a", "A", "a_b", "a/b", "ä", "a b"] {
            assert!(check_host(bad).is_err() && check_id(bad).is_err(), "{bad}");
        }
        assert_eq!(leg_device("x").len(), 14);
        assert_ne!(leg_device("one"), leg_device("two"));
    }
}
