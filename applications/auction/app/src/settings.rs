//! Settings of the application.

use std::net::TcpListener;
use std::path::PathBuf;

use barograph_auction_api::Role;
use barograph_auction_bus::BusUrl;
use barograph_store_images::{Limits, PictureLocation};

/// Places of users, auctions and events.
#[derive(Clone, Debug)]
pub enum Stores {
    /// In two SQLite files. The application is alone.
    Embedded {
        /// A filled folder, see [`crate::fill`]. It is only read.
        data_dir: PathBuf,
        /// A folder for this run's copies. Files of an earlier run are overwritten.
        state_dir: PathBuf,
    },
    /// In servers, which were loaded before (see [`crate::load`]) and which nodes may share.
    Servers {
        /// `postgres://`, `mysql://` or `mariadb://`.
        relational: Secret,
        /// `postgres://` or `mongodb://`.
        events: Secret,
        /// Connections to each of the two, at most; at least 2.
        connections: usize,
    },
}

/// A text that may hold a password; hidden in `Debug`.
#[derive(Clone)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Whether a node with this role owns auctions.
pub(crate) fn owns(role: Role) -> bool {
    role != Role::Application
}

/// Communication between nodes.
#[derive(Clone, Debug)]
pub struct Peers {
    /// The bus.
    pub bus: BusUrl,
    /// Prefix that lets several deployments share a broker: 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub namespace: String,
}

/// Most threads of a node whose stores are files, where the number follows from connections: each has a table
/// of open files.
pub const MOST_THREADS: usize = 64;

/// Settings of a server.
#[derive(Debug)]
pub struct ServeConfig {
    /// The listener, bound by the caller; port 0 is allowed.
    pub listener: TcpListener,
    /// The node's name, unique among the nodes that share stores: 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub node: String,
    /// Its role.
    pub role: Role,
    /// Stores of users, auctions and events.
    pub stores: Stores,
    /// Store of pictures.
    pub images: PictureLocation,
    /// Bounds of the picture cache and of the write queue.
    pub image_limits: Limits,
    /// The bus between nodes; `None` for a node that is alone.
    pub peers: Option<Peers>,
    /// Threads that serve requests, at least 1.
    pub threads: usize,
    /// Connections to have room for: a node whose stores are files gets more threads where open files require
    /// it, up to [`MOST_THREADS`].
    pub room_for: usize,
    /// Limit of open connections, if open files allow; more wait until one closes. Threads with open files of
    /// their own have equal shares.
    pub max_connections: usize,
}

impl ServeConfig {
    /// Whether this is the only node: the embedded stores belong to one process.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self.stores, Stores::Embedded { .. })
    }

    /// Whether it opens only files beside connections: then its threads may have open files of their own.
    pub(crate) fn is_of_files(&self) -> bool {
        self.is_alone() && matches!(self.images, PictureLocation::Files { .. }) && self.peers.is_none()
    }
}
