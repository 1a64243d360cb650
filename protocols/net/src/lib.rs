//! Connections of the driver's clients: addresses, TLS, pools and buffers, on a worker's event loop.
//!
//! A client of any protocol stands on it. Before the load, an [`Endpoint`] becomes [`Routes`] and [`Tls`] becomes a
//! [`TlsConfig`]; both are shared by all workers. Each worker has a [`Dialer`], which makes [`Stream`]s, [`Buffers`]
//! for what comes, and [`Pools`], which give its users connections by a [`Policy`].
//!
//! It knows no protocol and no clock: time-outs are the engine's, which drops an operation and its connection with it, and
//! how long connecting takes is told by a [`Watch`] where there is one.
//! A number tells the connections of a worker apart: it decides to which address one goes and from which it comes.

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
