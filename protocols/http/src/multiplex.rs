//! Requests over HTTP/2: a place on a connection, the answer in the form common to all versions.

use barograph_net::Policy;
use bytes::Bytes;

use crate::answer::{Answer, write_field};
use crate::carriers::{Carrier, Carriers, StreamPermit};
use crate::client::Client;
use crate::connect::HttpVersion;
use crate::connections::Connections;
use crate::fault::Fault;
use crate::reader::{AnswerLayout, COUNTED_KEPT};
use crate::request::RequestTraits;
use crate::translate::{self, LostRequest, RequestProgress};

/// Repetitions of a request that the peer has not processed: a peer that refuses this many in a row is
/// overloaded.
const MOST_REPEATS: u32 = 3;

impl Connections {
    /// Sends a request over HTTP/2.
    pub(crate) async fn ask_multiplexed(&self, wire: &[u8], asked: RequestTraits) -> Result<Answer, Fault> {
        let scheme = if self.client.target().is_tls() { "https" } else { "http" };
        let (request, body) = translate::request(wire, scheme)?;
        let mut repeats = 0;
        loop {
            let seat = self.seat().await?;
            let lost = match ask((&seat, asked), request.clone(), body.clone(), &self.client).await {
                Ok(answer) => return Ok(answer),
                Err(lost) => lost,
            };
            let stale = repeats == 0 && !seat.fresh;
            let again = match lost.reached {
                RequestProgress::Refused => repeats < MOST_REPEATS,
                RequestProgress::Nobody => stale,
                RequestProgress::PerhapsThePeer => stale && asked.safe,
                RequestProgress::ThePeer => false,
            };
            if !again {
                return Err(lost.fault);
            }
            // A peer that refuses one request may take others on the same connection.
            if !matches!(lost.fault, Fault::Reset { .. }) {
                seat.carrier.retire();
            }
            repeats += 1;
            self.client.count_repeated();
        }
    }

    async fn seat(&self) -> Result<StreamPermit, Fault> {
        let carriers = self.lane.carriers();
        let policy = self.client.target().options().policy;
        if policy == Policy::New {
            let alone = Carriers::new(1, 1);
            // Only the connection that showed the version is there already.
            let carrier = match carriers.give() {
                Some(carrier) => carrier,
                None => self.open_carrier().await?,
            };
            return Ok(alone.sit(&carrier));
        }
        // A user opens its next connection when the others are full; a pool keeps a fixed number of
        // connections open.
        let all = matches!(policy, Policy::Shared(_));
        loop {
            if let Some(seat) = carriers.seat(all) {
                return Ok(seat);
            }
            let opening = if all || !carriers.is_opening() { carriers.may_open() } else { None };
            match opening {
                Some(_opening) => {
                    let carrier = self.open_carrier().await?;
                    carriers.add(&carrier);
                    return Ok(carriers.sit(&carrier));
                }
                // Another request is opening one, or all are full; both announce a change.
                None => carriers.changed().await,
            }
        }
    }

    async fn open_carrier(&self) -> Result<Carrier, Fault> {
        match self.client.connect(self.number()).await? {
            (stream, HttpVersion::Http2) => Carrier::begin(stream).await,
            (_, HttpVersion::Http1) => Err(self.changed()),
        }
    }
}

async fn ask(
    (seat, asked): (&StreamPermit, RequestTraits),
    request: http::Request<()>,
    body: Option<Bytes>,
    client: &Client,
) -> Result<Answer, LostRequest> {
    let (head, mut data) = seat.carrier.open(request, body).await?;
    let limit = client.target().options().body_limit;
    let (mut buffer, status) = translate::head(&head, client.answers.take());
    let start = buffer.len();
    let kept = if asked.counts_body { COUNTED_KEPT } else { usize::MAX };
    let mut length = 0;
    while let Some(piece) = data.data().await {
        let piece = match piece {
            Err(why) if translate::is_enough(&why) => break,
            other => other.map_err(LostRequest::seen)?,
        };
        length += piece.len();
        if length > limit {
            return Err(LostRequest { fault: Fault::TooLarge { limit }, reached: RequestProgress::ThePeer });
        }
        let room = kept.saturating_sub(buffer.len() - start);
        buffer.extend_from_slice(&piece[..piece.len().min(room)]);
        data.flow_control().release_capacity(piece.len()).map_err(LostRequest::seen)?;
    }
    let end = buffer.len();
    let trailers = match data.trailers().await {
        Err(why) if translate::is_enough(&why) => None,
        other => other.map_err(LostRequest::seen)?,
    };
    for (name, value) in trailers.iter().flatten() {
        write_field(&mut buffer, name.as_str().as_bytes(), value.as_bytes());
    }
    let there = buffer.len();
    let whole = AnswerLayout {
        status,
        head: start,
        body: start..end,
        body_length: length,
        trailers: end..there,
        wire: there - (end - start) + length,
        keep: true,
    };
    Ok(Answer::new(&whole, buffer, &client.answers))
}
