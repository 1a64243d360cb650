//! Connections of the driver's clients: addresses, TLS, pools and buffers, on a worker's event loop.
//!
//! The basis of a client of any protocol. Before the load, an [`Endpoint`] becomes [`Routes`] and [`Tls`]
//! becomes a [`TlsConfig`]; both are shared by all workers. Each worker has a [`Dialer`], which opens
//! [`Stream`]s, [`Buffers`] for received bytes, and [`Pools`], which give its users connections by a
//! [`Policy`].
//!
//! It knows no protocol and no clock: time-outs are the engine's, which drops an operation and its connection
//! with it. The connections of a worker are numbered: the number determines the destination and the source
//! address.

mod buffers;
mod dialer;
mod endpoint;
mod fault;
mod identity;
mod pool;
mod probe;
mod setup;
mod stream;
mod tls;
mod trust;

pub use barograph_reactor::Peer;
pub use buffers::Buffers;
pub use dialer::{Dialer, Watch};
pub use endpoint::{Endpoint, Routes};
pub use fault::{Fault, TlsFault};
pub use identity::Identity;
pub use pool::{Policy, Pool, Pools};
pub use setup::SetupError;
pub use stream::{Counters, Stream};
pub use tls::{Alpn, Tls, TlsConfig, Verify};
pub use trust::certificates;
