//! Free ports that stay free while a service is down.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Ports are taken from this one on. All lie below those that the kernel gives to connections (from 32768 on): a client
/// that tries to reach a killed service from such a port can connect to itself, and then the port is taken.
const FIRST: u32 = 12_000;
const COUNT: u32 = 20_000;

/// Processes that run at the same time begin this far apart, so that they rarely look at the same ports.
const APART: u32 = 61;

/// Ports handed out by this process so far.
static GIVEN: AtomicU32 = AtomicU32::new(0);

/// A port of 127.0.0.1 on which nobody listens. Somebody may take it before its user does; then take another.
pub(super) fn free() -> u16 {
    for _ in 0..COUNT {
        let step = GIVEN.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + (std::process::id().wrapping_mul(APART).wrapping_add(step)) % COUNT;
        let port = u16::try_from(port).expect("the last one is 31999");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("none of {COUNT} ports is free");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_and_are_not_those_of_connections() {
        let ports = [free(), free(), free()];
        assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2], "{ports:?}");
        assert!(ports.iter().all(|port| (12_000..32_000).contains(port)));
    }
}
