//! The geocoder: a service that finds the place of an address, and its client in the site.
//!
//! It stands for the service of another company, so it is a program of its own and every new address costs a call.
//! Places are made up, and the same for the same address.

use std::future::Future;
use std::io;
use std::time::Duration;

use axum::extract::Query;
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::made::Address;

/// Path of the question.
const PATH: &str = "/locate";

/// Time limit of an answer.
const WAIT: Duration = Duration::from_secs(5);

/// Bytes of an answer at the most.
const LONGEST: u64 = 4_096;

/// A place, in millionths of a degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) latitude: i64,
    pub(crate) longitude: i64,
}

impl Place {
    /// The place of an address.
    pub(crate) fn of(address: &Address) -> Self {
        let Address { street, city, zip, country } = address;
        let text = format!("{street}\n{city}\n{zip}\n{country}");
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let hash = barograph_data::mix(hash);
        let part = |bits: u64, span: u64| (bits % span) as i64 - (span / 2) as i64;
        Place { latitude: part(hash & 0xffff_ffff, 180_000_000), longitude: part(hash >> 32, 360_000_000) }
    }

    /// Its zone, of a number of them.
    pub(crate) fn zone(self, zones: u64) -> i64 {
        ((self.longitude + 180_000_000) as u64 * zones / 360_000_000).min(zones - 1) as i64
    }
}

#[derive(Deserialize)]
struct Question {
    street: String,
    city: String,
    zip: String,
    country: String,
}

/// Serves as a geocoder until `end`.
///
/// # Errors
/// The system refused.
pub async fn serve(listener: TcpListener, end: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    let locate = async |Query(Question { street, city, zip, country }): Query<Question>| {
        Json(Place::of(&Address { street, city, zip, country }))
    };
    let router = Router::new().route("/health", get(async || "ready")).route(PATH, get(locate));
    axum::serve(listener, router).with_graceful_shutdown(end).await
}

/// The geocoder of a site.
#[derive(Clone, Debug)]
pub(crate) enum Geocoder {
    /// A service at an address.
    At(String),
    /// In this process, without a call.
    Here,
}

impl Geocoder {
    /// Asks for the place of an address.
    pub(crate) async fn locate(&self, address: &Address) -> io::Result<Place> {
        match self {
            Geocoder::Here => Ok(Place::of(address)),
            Geocoder::At(socket) => {
                timeout(WAIT, ask(socket, address)).await.unwrap_or_else(|why| Err(why.into()))
            }
        }
    }
}

async fn ask(socket: &str, address: &Address) -> io::Result<Place> {
    let Address { street, city, zip, country } = address;
    let [street, city, zip, country] = [street, city, zip, country].map(|text| encoded(text));
    let mut stream = TcpStream::connect(socket).await?;
    let head = format!(
        "GET {PATH}?street={street}&city={city}&zip={zip}&country={country} HTTP/1.1\r\nhost: {socket}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer).await?;
    let text = String::from_utf8_lossy(&answer);
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body).filter(|_| text.starts_with("HTTP/1.1 200"));
    let refused = || io::Error::other("the geocoder gave another answer than a place");
    serde_json::from_str(body.ok_or_else(refused)?).map_err(|_| refused())
}

/// A text for a query.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(street: &str) -> Address {
        Address {
            street: street.to_owned(),
            city: "A & B".to_owned(),
            zip: "1".to_owned(),
            country: "é".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_service_finds_the_same_place_as_this_process() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = listener.local_addr().unwrap().to_string();
        tokio::spawn(serve(listener, std::future::pending()));
        let there = Geocoder::At(socket).locate(&address("7 High Street")).await.unwrap();
        assert_eq!(there, Geocoder::Here.locate(&address("7 High Street")).await.unwrap());
        assert_ne!(there, Place::of(&address("8 High Street")));
    }

    #[tokio::test]
    async fn another_answer_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = listener.local_addr().unwrap().to_string();
        tokio::spawn(axum::serve(listener, Router::new()).into_future());
        assert!(Geocoder::At(socket).locate(&address("7")).await.is_err());
    }

    #[test]
    fn zones_cover_all_places_evenly() {
        let mut counts = [0_u32; 4];
        for number in 0..4_000 {
            let place = Place::of(&address(&number.to_string()));
            assert!(place.latitude.abs() <= 90_000_000 && place.longitude.abs() <= 180_000_000);
            counts[place.zone(4) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
    }
}
