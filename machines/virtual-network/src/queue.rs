//! The queue of a device: its rate and delay.

use barograph_platform::LinkSpec;

use crate::ip::Batch;

/// Packets that a delaying queue of the kernel may hold: about as many bytes as a relay.
const NETEM_PACKETS: u32 = 40_000;

/// Inverse of a token bucket's size in seconds: 5 ms of tokens.
const BUCKETS_PER_SECOND: u64 = 200;
/// Smallest token bucket in bytes: two frames.
const LEAST_BUCKET_BYTES: u64 = 3_200;

/// Inverse of a queue's length in seconds: packets wait for at most 50 ms.
const QUEUES_PER_SECOND: u64 = 20;
/// Smallest queue in bytes: twenty frames.
const LEAST_QUEUE_BYTES: u64 = 30_000;

/// Queue of a device; by default that of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Queue {
    bits_per_second: Option<u64>,
    /// Delay in microseconds and loss in percent, if the kernel does both.
    netem: Option<(u128, f64)>,
}

/// Returns the queue for a link.
pub(crate) fn queue(link: &LinkSpec, kernel_delays: bool) -> Queue {
    let delays = kernel_delays && !(link.delay.is_zero() && link.loss == 0.0);
    Queue {
        bits_per_second: link.bits_per_second,
        netem: delays.then_some((link.delay.as_micros(), link.loss * 100.0)),
    }
}

/// Adds the commands that replace the queue of `device`. Packets waiting in a queue of the same kind stay.
pub(crate) fn change(tc: Batch, device: &str, has: Queue, wanted: Queue) -> Batch {
    commands(device, has, wanted).iter().fold(tc, |tc, command| tc.then(command))
}

fn commands(device: &str, has: Queue, wanted: Queue) -> Vec<String> {
    if has == wanted {
        return Vec::new();
    }
    let tbf = |rate: u64| {
        let bytes = rate / 8;
        let burst = (bytes / BUCKETS_PER_SECOND).max(LEAST_BUCKET_BYTES);
        let limit = (bytes / QUEUES_PER_SECOND).max(LEAST_QUEUE_BYTES) + burst;
        format!("tbf rate {rate}bit burst {burst} limit {limit}")
    };
    let Some((micros, percent)) = wanted.netem else {
        return vec![match wanted.bits_per_second {
            Some(rate) => format!("qdisc replace dev {device} root {}", tbf(rate)),
            None => format!("qdisc del dev {device} root"),
        }];
    };
    let netem = format!("netem delay {micros}us loss {percent}% limit {NETEM_PACKETS}");
    let mut list = vec![format!("qdisc replace dev {device} root handle 1: {netem}")];
    let had_rate = has.netem.and(has.bits_per_second).is_some();
    match wanted.bits_per_second {
        Some(rate) => list.push(format!("qdisc replace dev {device} parent 1:1 {}", tbf(rate))),
        None if had_rate => list.push(format!("qdisc del dev {device} parent 1:1")),
        None => {}
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn link(bits_per_second: Option<u64>, delay_ms: u64, loss: f64) -> LinkSpec {
        LinkSpec { bits_per_second, delay: Duration::from_millis(delay_ms), loss }
    }

    fn between(has: (LinkSpec, bool), wanted: (LinkSpec, bool)) -> Vec<String> {
        commands("d", queue(&has.0, has.1), queue(&wanted.0, wanted.1))
    }

    #[test]
    fn a_limit_comes_changes_and_goes() {
        let (plain, slow) = (link(None, 0, 0.0), link(Some(80_000_000), 0, 0.0));
        let tbf = "qdisc replace dev d root tbf rate 80000000bit burst 50000 limit 550000";
        assert_eq!(between((plain, true), (slow, true)), [tbf]);
        assert_eq!(between((slow, true), (plain, false)), ["qdisc del dev d root"]);
        assert_eq!(between((slow, true), (slow, true)), [""; 0]);
        let least = "qdisc replace dev d root tbf rate 1000bit burst 3200 limit 33200";
        assert_eq!(between((slow, true), (link(Some(1000), 0, 0.0), true)), [least]);
    }

    #[test]
    fn a_relay_leaves_the_delay_out_of_the_queue() {
        let far = link(None, 10, 0.01);
        assert_eq!(between((link(None, 0, 0.0), false), (far, false)), [""; 0]);
        let netem = "qdisc replace dev d root handle 1: netem delay 10000us loss 1% limit 40000";
        assert_eq!(between((link(None, 0, 0.0), true), (far, true)), [netem]);
        assert_eq!(between((far, true), (link(None, 0, 0.0), false)), ["qdisc del dev d root"]);
        let both = between((far, true), (link(Some(8_000_000), 10, 0.01), true));
        assert_eq!(both[1], "qdisc replace dev d parent 1:1 tbf rate 8000000bit burst 5000 limit 55000");
        let back = between((link(Some(8_000_000), 10, 0.01), true), (far, true));
        assert_eq!(back[1], "qdisc del dev d parent 1:1");
    }
}
