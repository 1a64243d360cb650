//! A bus over several servers: a node hears all of them and sends through one.
//!
//! The servers know nothing of each other. Nodes begin with different servers by their names, and change to
//! the next one only when a link is lost: until then the messages of one sender stay in order.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures::future::{join_all, try_join_all};
use tokio::sync::mpsc;

use crate::{
    BoxFuture, Bus, BusConnection, BusEvent, BusUrl, ConnectError, Counts, NodeName, Recipient, SendError,
    Settings, connect,
};

/// The node's ends, one for each server.
struct SeveralServers {
    ends: Vec<Arc<dyn Bus>>,
    /// Number of the end that sends.
    sender: AtomicUsize,
    /// Messages put into the queue common to all links.
    heard: AtomicU64,
}

/// Connects a node to all servers.
pub(crate) async fn join(
    urls: &[BusUrl],
    place: NodeName<'_>,
    settings: &Settings,
) -> Result<BusConnection, ConnectError> {
    let links = urls.iter().map(|url| Box::pin(connect(url, place, settings)));
    let (ends, mut receivers): (Vec<_>, Vec<_>) = try_join_all(links).await?.into_iter().unzip();
    // The first event of each link is that it is connected. All together are one event.
    join_all(receivers.iter_mut().map(mpsc::Receiver::recv)).await;
    let (heard, receiver) = mpsc::channel(settings.inbox.max(1));
    let sent = heard.try_send(BusEvent::Connected);
    debug_assert!(sent.is_ok(), "the queue is new and holds one at least");
    let sender = AtomicUsize::new(first_of(place.node, ends.len()));
    let bus = Arc::new(SeveralServers { ends, sender, heard: AtomicU64::new(0) });
    for from in receivers {
        tokio::spawn(forward(from, heard.clone(), Arc::downgrade(&bus)));
    }
    Ok((bus, receiver))
}

/// Number of the server that a node begins with. Nodes whose names end with consecutive digits begin with
/// consecutive servers.
fn first_of(node: &str, servers: usize) -> usize {
    node.bytes().map(usize::from).sum::<usize>() % servers
}

/// Hands on the events of one link, until the bus or the receiver is closed.
async fn forward(mut from: mpsc::Receiver<BusEvent>, to: mpsc::Sender<BusEvent>, bus: Weak<SeveralServers>) {
    loop {
        let event = tokio::select! {
            event = from.recv() => event,
            () = to.closed() => None,
        };
        let Some(event) = event else { return };
        let Ok(place) = to.reserve().await else { return };
        let has_other = match (&event, bus.upgrade()) {
            (BusEvent::Message(_), Some(bus)) => {
                bus.heard.fetch_add(1, Ordering::Relaxed);
                false
            }
            (BusEvent::Lost { .. }, Some(bus)) => bus.is_connected(),
            _ => false,
        };
        place.send(event);
        // What was lost with the link is announced again through another server.
        if has_other && to.send(BusEvent::Connected).await.is_err() {
            return;
        }
    }
}

impl Bus for SeveralServers {
    fn send(&self, to: Recipient<'_>, body: Bytes) -> Result<(), SendError> {
        let first = self.sender.load(Ordering::Relaxed);
        for number in (0..self.ends.len()).map(|next| (first + next) % self.ends.len()) {
            match self.ends[number].send(to, body.clone()) {
                Err(SendError::Down) => {}
                result => {
                    if number != first {
                        self.sender.store(number, Ordering::Relaxed);
                    }
                    return result;
                }
            }
        }
        Err(SendError::Down)
    }

    fn is_connected(&self) -> bool {
        self.ends.iter().any(|end| end.is_connected())
    }

    fn describe(&self) -> String {
        let ends: Vec<String> = self.ends.iter().map(|end| end.describe()).collect();
        format!("{} servers: {}", ends.len(), ends.join("; "))
    }

    fn counts(&self) -> Counts {
        let mut sum = Counts { heard: self.heard.load(Ordering::Relaxed), ..Counts::default() };
        for counts in self.ends.iter().map(|end| end.counts()) {
            sum.sent += counts.sent;
            sum.dropped += counts.dropped;
            sum.reconnects += counts.reconnects;
        }
        sum
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            join_all(self.ends.iter().map(|end| end.close())).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_nodes_begin_with_consecutive_servers() {
        let firsts = |servers| ["node-1", "node-2", "node-3"].map(|node| first_of(node, servers));
        assert_eq!(firsts(1), [0, 0, 0]);
        let [one, two, three] = firsts(2);
        assert!(one == three && one != two);
    }
}
