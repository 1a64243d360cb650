//! Streams of events from the simulated application: the present state, then every change at the instant it happens.

use barograph_http::{Event, Fault};
use barograph_model::Nanos;
use barograph_workload_auction::Feed;

use crate::application::{Application, bid};

/// One open stream.
pub struct InProcessFeed {
    app: Application,
    auction: i64,
    /// The number of the next state in the auction.
    next: usize,
    stopping: bool,
    id: String,
    data: String,
}

impl InProcessFeed {
    pub(crate) fn open(app: &Application, auction: i64) -> Self {
        app.watch(auction);
        app.count_feeds(|feeds| (feeds.opened, feeds.open) = (feeds.opened + 1, feeds.open + 1));
        let next = app.told(auction, usize::MAX).unwrap_err();
        InProcessFeed {
            app: app.clone(),
            auction,
            next,
            stopping: false,
            id: String::new(),
            data: String::new(),
        }
    }
}

impl Drop for InProcessFeed {
    fn drop(&mut self) {
        self.app.count_feeds(|feeds| feeds.open -= 1);
    }
}

impl Feed for InProcessFeed {
    async fn next(&mut self) -> Result<Option<Event<'_>>, Fault> {
        loop {
            if self.stopping {
                return Ok(None);
            }
            if self.app.trouble().is_some() {
                self.stopping = true;
                return Ok(Some(Event { name: "stopping", id: &self.id, data: "{}" }));
            }
            if let Ok((round, bidding)) = self.app.told(self.auction, self.next) {
                self.next += 1;
                self.id = format!("{round}-{}", bidding.sequence);
                self.data = bid(self.auction, &bidding);
                return Ok(Some(Event { name: "bid", id: &self.id, data: &self.data }));
            }
            self.app.news(self.auction, Nanos::MAX).await;
        }
    }
}
