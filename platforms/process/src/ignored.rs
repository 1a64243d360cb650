//! Signals that this program was started to ignore, which units must not ignore too.
//!
//! A shell that runs something in the background has it ignore INT and QUIT, and whatever that starts ignores them with it:
//! being ignored is handed on to every child, a handler is not. A unit that is asked to end by such a signal would not hear
//! it, and be killed when its time is up.

use std::fs;
use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// By which a unit may be asked to end.
const ASKED_BY: [fn() -> SignalKind; 3] = [SignalKind::interrupt, SignalKind::quit, SignalKind::terminate];

/// From here on this process hears those of them that it ignored, and does nothing about them, so that its children have them
/// as usual.
///
/// # Errors
/// When a handler cannot be installed.
pub(crate) fn hand_none_on() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let ignored = mask(&status);
    for kind in ASKED_BY.map(|kind| kind()) {
        if ignored & (1 << (kind.as_raw_value() - 1)) != 0 {
            // Its handler stays when it goes.
            drop(signal(kind)?);
        }
    }
    Ok(())
}

/// Bit `n - 1` stands for signal `n`.
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
