//! Names of things in an engine.

/// Label of every container, network and image of a site.
pub(crate) const LABEL: &str = "org.barograph.site";

/// Returns the network of a site.
pub(crate) fn network(site: &str) -> String {
    format!("bg-{site}")
}

/// Returns the holder of a host. It is longer than any prefix of units, so that no unit can have the same
/// name.
pub(crate) fn holder(site: &str, host: &str) -> String {
    format!("bg-host-{site}-{host}")
}

/// Returns the container of a unit.
pub(crate) fn unit(site: &str, unit: &str) -> String {
    format!("bg-{site}-{}", plain(unit))
}

/// Returns the container of one step before a unit's start, counted from 1.
pub(crate) fn step(site: &str, unit: &str, number: usize) -> String {
    format!("bg-step{number}-{site}-{}", plain(unit))
}

/// Returns the image of a site, or a permanent one.
pub(crate) fn image(site: Option<&str>) -> (String, String) {
    let tag = site.map_or_else(|| "kept".to_owned(), |id| format!("of-{id}"));
    ("barograph/machine".to_owned(), tag)
}

/// Replaces characters that engines refuse: they accept letters, digits, `_`, `.` and `-`. A hash of the
/// original name keeps names distinct.
fn plain(name: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.chars().all(fine) {
        return name.to_owned();
    }
    let number = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let kept: String = name.chars().map(|c| if fine(c) { c } else { '-' }).collect();
    format!("{kept}.{:08x}", number & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_an_engine_and_stay_different() {
        assert_eq!(unit("x1", "app-1"), "bg-x1-app-1");
        assert_eq!(holder("x1", "app"), "bg-host-x1-app");
        assert_eq!(step("x1", "pg", 2), "bg-step2-x1-pg");
        let (one, two) = (unit("x", "a b"), unit("x", "a/b"));
        assert_ne!(one, two);
        assert!(one.starts_with("bg-x-a-b."), "{one}");
        assert_eq!(image(None).1, "kept");
    }
}
