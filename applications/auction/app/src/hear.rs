//! Handling of messages from other nodes.

use std::sync::Arc;

use barograph_auction_api::AuctionId;
use barograph_auction_bus::BusEvent;
use barograph_auction_rules::Offer;
use tokio::sync::mpsc;

use crate::app::App;
use crate::auctioneer::Command;
use crate::channels::StateSource;
use crate::messages::{Bid, Message, bidding};

/// Handles messages until the bus is closed.
pub(crate) async fn run(app: Arc<App>, mut bus: mpsc::Receiver<BusEvent>) {
    while let Some(heard) = bus.recv().await {
        match heard {
            BusEvent::Message(delivery) => match Message::read(&delivery.body) {
                Some(message) => hear(&app, message),
                None => {
                    tracing::warn!(bytes = delivery.body.len(), "a message that this version does not know")
                }
            },
            BusEvent::Connected => connected(&app),
            BusEvent::Lost { why } => tracing::warn!(why, "the bus is lost"),
        }
    }
}

/// Recovers from messages lost while the bus was down: drops what may be stale, requests states and announces
/// this node's.
fn connected(app: &Arc<App>) {
    tracing::info!("the bus is connected");
    app.forget();
    app.tell_all(&Message::Ask { node: app.node.to_string() });
    app.announce();
    app.wake_others();
    app.look.notify_one();
}

fn hear(app: &Arc<App>, message: Message) {
    match message {
        Message::Bid(bid) => take_bid(app, bid),
        Message::Wake { auction } => {
            // Kept, in case the auction is only about to become this node's.
            if let Some(channel) = app.channels.channel(auction) {
                channel.mark_watched();
            }
            app.command_later(Command::Wake(auction));
        }
        Message::State { round, bidding: update } => {
            app.tell_followers_here(update.auction_id, (round, bidding(&update)), StateSource::Hearsay);
        }
        Message::Owned { node, auctions } => {
            for (auction, fence) in auctions {
                app.owned_by(auction, &node, fence);
            }
        }
        Message::Ask { node } if *node != *app.node => {
            // Other nodes may have changed something while they were cut off.
            app.forget();
            app.announce();
            app.wake_others();
        }
        Message::Ask { .. } => {}
        Message::Forget => app.forget(),
        Message::Look => app.look.notify_one(),
        Message::SessionEnded { token } => app.forget_session(&token),
        Message::ItemChanged { item, auction } => app.forget_item(item, auction),
    }
}

/// Handles a bid for an auction of this node. A bid for an auction that has moved is forwarded, once.
///
/// Never waits for the auctioneer, since states of all other auctions follow in the same queue.
fn take_bid(app: &App, bid: Bid) {
    if app.owns(bid.auction) {
        let offer = Offer { item: bid.item, bidder: bid.bidder, amount: bid.amount };
        if app.try_command(Command::Bid { auction: bid.auction, offer, credit: bid.credit }).is_err() {
            app.metrics.refused();
        }
        return;
    }
    app.metrics.misrouted();
    let owner = owner_elsewhere(app, bid.auction);
    if let (Some(owner), false) = (owner, bid.sent_on) {
        app.tell_node(&owner, &Message::Bid(Bid { sent_on: true, ..bid }));
    }
}

fn owner_elsewhere(app: &App, auction: AuctionId) -> Option<Arc<str>> {
    let owner = app.channels.channel(auction)?.owner()?;
    (*owner.node != *app.node).then_some(owner.node)
}
