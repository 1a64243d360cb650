//! A node in this process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use barograph_database_engines::{DatabaseSettings, ISOLATIONS, ServerParts, SessionUsers};
use barograph_http::Policy;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::user::{LoadState, Visitor};
use crate::web::sessions::{NodeDatabase, start};
use crate::web::{Front, WebSessions, server};

/// Users of the web tier.
pub(crate) type WebUsers = SessionUsers<WebSessions, Visitor>;

/// The users of web servers.
pub(crate) fn users_of(servers: &[SocketAddr], shared: &Arc<LoadState>) -> WebUsers {
    let fronts = servers.iter().map(SocketAddr::to_string).collect();
    let targets = Front { fronts, behind: String::new() }.targets(Policy::PerUser(1)).unwrap();
    SessionUsers::new(WebSessions::new(&targets), shared)
}

/// A node, which ends when it is dropped.
pub(crate) struct Node {
    pub(crate) address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    /// A node on a database.
    pub(crate) fn start(url: &str) -> Self {
        let settings = DatabaseSettings {
            database: "",
            is_durable: true,
            is_queued: true,
            isolation: ISOLATIONS[0],
            busy: Duration::from_secs(60),
            parts: ServerParts::default(),
        };
        let jobs = start(&NodeDatabase { url: url.to_owned(), settings, sessions: 4 }).unwrap();
        let (end, ended) = oneshot::channel();
        let (bound, address) = sync_channel(1);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                bound.send(listener.local_addr().unwrap()).unwrap();
                let ended = async {
                    let _ = ended.await;
                };
                server::serve(listener, jobs, ended).await.unwrap();
            });
        });
        Node { address: address.recv().unwrap(), end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has failed the test.
            let _ = thread.join();
        }
    }
}
