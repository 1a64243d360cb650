//! Signals that this program ignores from its start, but that units must not ignore.
//!
//! A shell makes its background processes ignore INT and QUIT. Unlike a handler, this is inherited by every
//! child. A unit that is asked to end by such a signal would ignore it, and be killed when its time is up.

use std::fs;
use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Signals by which a unit may be asked to end.
const ASKED_BY: [fn() -> SignalKind; 3] = [SignalKind::interrupt, SignalKind::quit, SignalKind::terminate];

/// Installs handlers that do nothing for those signals that this process ignores, so that its children have
/// the default handling.
///
/// # Errors
/// If a handler cannot be installed.
pub(crate) fn hand_none_on() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let ignored = mask(&status);
    for kind in ASKED_BY.map(|kind| kind()) {
        if ignored & (1 << (kind.as_raw_value() - 1)) != 0 {
            // The handler stays installed after this is dropped.
            drop(signal(kind)?);
        }
    }
    Ok(())
}

/// Parses the mask: bit `n - 1` represents signal `n`.
fn mask(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn the_mask_is_read_as_the_kernel_writes_it() {
        assert_eq!(
            mask("SigBlk:\t0000000000000001\nSigIgn:\t0000000000000006\nSigCgt:\t0000000000000000\n"),
            6
        );
        assert_eq!(mask("Name:\tcat\n"), 0);
    }
}
