//! All bounds of the bus, with their reasons.

use std::time::Duration;

/// The longest body in bytes. Bids and states are some hundred bytes; the bound makes every queue below a
/// bound of memory, and it fits one frame of RabbitMQ and the default payload of NATS.
pub const MAX_BODY_BYTES: usize = 64 << 10;

/// The longest name of a node or a namespace: with prefix and separators a routing key stays below AMQP's 255 bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// Messages that wait for the network. At 20,000 a second this is 0.2 s, more than a pause of a busy machine,
/// and short enough that the application notices a stalled link at once.
pub(crate) const OUTBOX: usize = 4096;

/// Messages that wait for the application. As long as the outbox, for the same reason.
pub(crate) const INBOX: usize = 4096;

/// Messages that RabbitMQ keeps for a node that does not keep up: 5 s at 20,000 a second. After that the oldest are
/// dropped, since the newest state of an auction is worth more.
pub(crate) const BROKER_QUEUE: u32 = 100_000;

/// The same queue in bytes, so that long bodies cannot exhaust the broker's memory.
pub(crate) const BROKER_QUEUE_BYTES: u32 = 64 << 20;

/// Messages that RabbitMQ sends ahead of the acknowledgement, as in the auction benchmark.
pub(crate) const PREFETCH: u16 = 250;

/// Messages acknowledged together: a quarter of the prefetch, so that the broker never waits for a node that
/// keeps up.
pub(crate) const ACK_EVERY: u32 = PREFETCH as u32 / 4;

/// Idle time after which the last few messages are acknowledged too: RabbitMQ closes a channel whose messages
/// stay unacknowledged for half an hour.
pub(crate) const ACK_IDLE: Duration = Duration::from_secs(1);

/// Most messages written with one system call.
pub(crate) const BATCH: usize = 256;

/// Length of a batch in bytes at which it is written, so that long bodies do not need long buffers.
pub(crate) const WRITE_BYTES: usize = 64 << 10;

/// Bytes per read. Enough for some hundred small messages.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// The longest AMQP frame requested and accepted: RabbitMQ's own default.
pub(crate) const FRAME_BYTES: u32 = 128 << 10;

/// The longest accepted line of NATS: the server's first line grows with the addresses of its cluster.
pub(crate) const LINE_BYTES: usize = 32 << 10;

/// The heartbeat negotiated with RabbitMQ, in seconds, as in the auction benchmark.
pub(crate) const HEARTBEAT_SECONDS: u16 = 10;

/// Interval of this side's signs of life: half the heartbeat, as AMQP requires.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(5);

/// Silence after which a broker is considered lost: two heartbeats. It answers or sends one every 5 s.
pub(crate) const SILENCE_LIMIT: Duration = Duration::from_secs(20);

/// Time limit for opening one link, including greeting, subscriptions and all attempts.
pub(crate) const OPEN_LIMIT: Duration = Duration::from_secs(5);

/// Most attempts that find their new declarations deleted again. Each requires a last node that left in the
/// same millisecond, so a broker that keeps reporting it has another problem.
pub(crate) const MISSED_AT_MOST: u32 = 5;

/// Time limit for sending the queued messages when the bus is closed. The rest is dropped.
pub(crate) const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// Wait before the second attempt to connect again; the first is made at once. It doubles from there.
pub(crate) const RETRY_FIRST: Duration = Duration::from_millis(500);

/// Longest wait between attempts while recovery is fresh: recovery time is measured, so a broker that returns
/// must be found within a second.
pub(crate) const RETRY_FRESH_CAP: Duration = Duration::from_secs(1);

/// Total waiting time during which recovery counts as fresh.
pub(crate) const RETRY_FRESH_FOR: Duration = Duration::from_secs(30);

/// Longest wait between attempts after that, for a broker that stays away.
pub(crate) const RETRY_CAP: Duration = Duration::from_secs(10);

/// Shortest life of a link after which the waits start anew: a broker that accepts and drops connections must
/// not be retried in a tight loop.
pub(crate) const STEADY_AFTER: Duration = Duration::from_secs(5);

/// Limits of waiting messages. Each message is at most [`MAX_BODY_BYTES`] long.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Accepted messages not yet written. More are refused as [`Full`](crate::SendError::Full).
    pub outbox: usize,
    /// Received messages not yet taken by the application. While it is full, nothing more is read.
    pub inbox: usize,
    /// Messages that RabbitMQ keeps for this node. More displace the oldest. The other buses have no such
    /// queue.
    pub broker_queue: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { outbox: OUTBOX, inbox: INBOX, broker_queue: BROKER_QUEUE }
    }
}
