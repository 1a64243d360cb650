//! Counters of the workload: bytes on connections, and connections opened.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use barograph_engine::OpContext;
use barograph_http::{Client, Watch};
use barograph_model::CounterId;

use crate::worker::Worker;

/// Names of the counters, by index.
pub(crate) const NAMES: [&str; 6] =
    ["received_bytes", "sent_bytes", "connections_made", "tls_handshakes", "connect_ns", "tls_handshake_ns"];

/// Tells the time to the clients of a worker, from its first operation on.
#[derive(Default)]
pub(crate) struct WorkerWatch(OnceCell<Watch>);

impl WorkerWatch {
    /// Gives the watch to a client that was made later.
    pub(crate) fn give(&self, client: &Client) {
        if let Some(watch) = self.0.get() {
            client.time_by(watch);
        }
    }
}

/// Totals of a worker's connections at the last count.
#[derive(Default)]
pub(crate) struct Traffic(Cell<[u64; NAMES.len()]>);

impl Worker {
    /// Lets its clients count how long connecting takes, by the clock of the engine.
    pub(crate) fn watch(&self, context: &OpContext) {
        if self.watching.0.get().is_none() {
            let watch = self.watching.0.get_or_init(|| Rc::new(context.watch()));
            self.client.time_by(watch);
            self.origins.each(|client| client.time_by(watch));
        }
    }

    /// Adds to the counters what the connections of this worker have done since it was last asked for.
    pub(crate) fn count_traffic(&self, context: &mut OpContext) {
        let mut now = [0; NAMES.len()];
        let mut add = |client: &Client| {
            let done = client.counters();
            let values = [
                done.bytes_in,
                done.bytes_out,
                done.opened,
                done.handshakes,
                done.connecting.0,
                done.securing.0,
            ];
            now.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        };
        add(&self.client);
        self.origins.each(add);
        let then = self.traffic.0.replace(now);
        for (index, (now, then)) in now.into_iter().zip(then).enumerate() {
            context.add(CounterId(index as u8), now - then);
        }
    }
}
