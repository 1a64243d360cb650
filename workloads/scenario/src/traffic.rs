//! Counters of the workload: bytes on connections, and connections opened.

use std::cell::Cell;

use barograph_engine::Turn;
use barograph_model::CounterId;

use crate::worker::Worker;

/// Names of the counters, by index.
pub(crate) const NAMES: [&str; 4] = ["received_bytes", "sent_bytes", "connections_made", "tls_handshakes"];

/// Totals of a worker's connections at the last count.
#[derive(Default)]
pub(crate) struct Traffic(Cell<[u64; NAMES.len()]>);

impl Worker {
    /// Adds to the counters the traffic of this worker's connections since the last call.
    pub(crate) fn count_traffic(&self, turn: &mut Turn) {
        let mut now = [0; NAMES.len()];
        let mut add = |client: &barograph_http::Client| {
            let done = client.counters();
            let values = [done.bytes_in, done.bytes_out, done.opened, done.handshakes];
            now.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        };
        add(&self.client);
        self.origins.each(add);
        let then = self.traffic.0.replace(now);
        for (index, (now, then)) in now.into_iter().zip(then).enumerate() {
            turn.add(CounterId(index as u8), now - then);
        }
    }
}
