//! Every bound of the bus, with its reason.

use std::time::Duration;

/// The longest body in bytes. Bids and states are some hundred bytes; the bound is what makes every queue below a
/// bound of memory, and it fits one frame of RabbitMQ and the default payload of NATS.
pub const MAX_BODY_BYTES: usize = 64 << 10;

/// The longest name of a node or a namespace: with prefix and separators a routing key stays below AMQP's 255 bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// Messages that wait for the network. At 20,000 a second this is 0.2 s, more than a pause of a busy machine, and
/// little enough that a stalled link is felt by the application at once.
pub(crate) const OUTBOX: usize = 4096;

/// What waits for the application. As long as the outbox, for the same reason.
pub(crate) const INBOX: usize = 4096;

/// Messages that RabbitMQ keeps for a node that does not keep up: 5 s at 20,000 a second. After that the oldest are
/// dropped, since the newest state of an auction is worth more.
pub(crate) const BROKER_QUEUE: u32 = 100_000;

/// The same queue in bytes, so that long bodies cannot fill the broker's memory.
pub(crate) const BROKER_QUEUE_BYTES: u32 = 64 << 20;

/// Messages that RabbitMQ sends ahead of the acknowledgement, as the auction benchmark has it.
pub(crate) const PREFETCH: u16 = 250;

/// Acknowledged together: a quarter of what may be ahead, so that the broker never waits for us while we keep up.
pub(crate) const ACK_EVERY: u32 = PREFETCH as u32 / 4;

/// After this time without a new message the last few are acknowledged too: RabbitMQ closes a channel whose messages
/// stay unacknowledged for half an hour.
pub(crate) const ACK_IDLE: Duration = Duration::from_secs(1);

/// Messages written with one call to the system at most.
pub(crate) const BATCH: usize = 256;

/// A batch is written when it is this long in bytes, so that long bodies do not need long buffers.
pub(crate) const WRITE_BYTES: usize = 64 << 10;

/// Read at a time. Enough for some hundred small messages.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// The longest frame of AMQP that is asked for and taken: RabbitMQ's own default.
pub(crate) const FRAME_BYTES: u32 = 128 << 10;

/// The longest line of NATS that is taken: the server's first line grows with the addresses of its cluster.
pub(crate) const LINE_BYTES: usize = 32 << 10;

/// The heartbeat agreed with RabbitMQ, in seconds, as the auction benchmark has it.
pub(crate) const HEARTBEAT_SECONDS: u16 = 10;

/// How often this side says that it lives: half the heartbeat, as AMQP asks for.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(5);

/// A broker that says nothing for this long is gone: two heartbeats. It answers or sends one every 5 s.
pub(crate) const SILENCE_LIMIT: Duration = Duration::from_secs(20);

/// Opening one link, greeting and subscriptions included, and all attempts at it.
pub(crate) const OPEN_LIMIT: Duration = Duration::from_secs(5);

/// So often an attempt may find that what it has just declared is gone again. Each time a last node must have left in the
/// same millisecond, so a broker that keeps saying so means something else.
pub(crate) const MISSED_AT_MOST: u32 = 5;

/// Handing over what is queued when the bus is closed. A broker that takes longer does not get it.
pub(crate) const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// The wait before the second attempt to connect again; the first is made at once. Then it doubles.
pub(crate) const RETRY_FIRST: Duration = Duration::from_millis(500);

/// The longest wait between attempts while recovery is fresh: recovery time is measured, so a broker that is back
/// must be found within a second.
pub(crate) const RETRY_FRESH_CAP: Duration = Duration::from_secs(1);

/// How long recovery counts as fresh, in time spent waiting.
pub(crate) const RETRY_FRESH_FOR: Duration = Duration::from_secs(30);

/// The longest wait between attempts after that: a broker that stays away is not worth more.
pub(crate) const RETRY_CAP: Duration = Duration::from_secs(10);

/// A link that was lost sooner does not begin the waits anew: a broker that lets us in and throws us out again must
/// not be asked in a tight loop.
pub(crate) const STEADY_AFTER: Duration = Duration::from_secs(5);

/// How much may wait where. Counted in messages; each is at most [`MAX_BODY_BYTES`] long.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Messages handed over and not yet written. More answer [`Full`](crate::SendError::Full).
    pub outbox: usize,
    /// What was heard and not yet taken by the application. While it is full, nothing more is read.
    pub inbox: usize,
    /// Messages that RabbitMQ keeps for this node. More push out the oldest. The other buses have no such queue.
    pub broker_queue: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { outbox: OUTBOX, inbox: INBOX, broker_queue: BROKER_QUEUE }
    }
}
