//! The server: its listeners, and what all sessions share.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use crate::changes::Changes;
use crate::imap::ImapSession;
use crate::smtp::SmtpSession;
use crate::store::{Durability, Store, StoreError};

/// Wait after a connection could not be accepted, because no file is left.
const PAUSE: Duration = Duration::from_millis(10);

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address for SMTP and LMTP; port 0 chooses a free one.
    pub smtp: SocketAddr,
    /// Address for IMAP; port 0 chooses a free one.
    pub imap: SocketAddr,
    /// Folder of the store, which exists.
    pub folder: PathBuf,
    /// Durability of changes.
    pub durability: Durability,
    /// Domain of the accounts, as in `example.test`.
    pub domain: String,
    /// Password of every account.
    pub password: String,
    /// Most connections at once; further ones are closed.
    pub max_connections: usize,
}

/// The bound addresses of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// For SMTP and LMTP.
    pub smtp: SocketAddr,
    /// For IMAP.
    pub imap: SocketAddr,
}

/// Failure to start a server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// An address cannot be bound.
    #[error("listen at {address}: choose a free port, or port 0")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        #[source]
        why: io::Error,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// State that all sessions share.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) changes: Changes,
    domain: String,
    password: String,
}

impl Shared {
    /// Whether there is an account of this address.
    pub(crate) fn is_account(&self, address: &str) -> bool {
        address
            .rsplit_once('@')
            .is_some_and(|(user, domain)| !user.is_empty() && domain.eq_ignore_ascii_case(&self.domain))
    }

    pub(crate) fn is_login(&self, user: &str, password: &str) -> bool {
        self.is_account(user) && password == self.password
    }
}

/// A listening server.
pub struct MailServer {
    smtp: TcpListener,
    imap: TcpListener,
    shared: Rc<Shared>,
    max_connections: usize,
}

impl MailServer {
    /// Opens the store and binds the addresses. Must run in a runtime of one thread, within a `LocalSet`, like
    /// all later calls.
    ///
    /// # Errors
    /// If an address cannot be bound, or the store cannot be opened.
    pub async fn bind(options: &ServerOptions) -> Result<Self, ServerError> {
        let shared = Shared {
            store: Store::open(&options.folder, options.durability)?,
            changes: Changes::default(),
            domain: options.domain.clone(),
            password: options.password.clone(),
        };
        let (smtp, imap) = (listen(options.smtp).await?, listen(options.imap).await?);
        Ok(MailServer { smtp, imap, shared: Rc::new(shared), max_connections: options.max_connections })
    }

    /// The bound addresses.
    ///
    /// # Errors
    /// If the system does not return them.
    pub fn addresses(&self) -> io::Result<Addresses> {
        Ok(Addresses { smtp: self.smtp.local_addr()?, imap: self.imap.local_addr()? })
    }

    /// Serves connections for as long as it is polled.
    pub async fn serve(self) {
        let open = Rc::new(());
        loop {
            let (stream, is_smtp) = tokio::select! {
                accepted = self.smtp.accept() => (accepted, true),
                accepted = self.imap.accept() => (accepted, false),
            };
            let Ok((stream, _)) = stream else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            if Rc::strong_count(&open) <= self.max_connections {
                let (shared, open) = (Rc::clone(&self.shared), Rc::clone(&open));
                tokio::task::spawn_local(async move {
                    // A broken connection ends alone.
                    let _ = session(stream, &shared, is_smtp).await;
                    drop(open);
                });
            }
        }
    }
}

async fn session(stream: TcpStream, shared: &Rc<Shared>, is_smtp: bool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match is_smtp {
        true => SmtpSession::new(stream, shared).serve().await,
        false => ImapSession::new(stream, shared).serve().await,
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ServerError> {
    TcpListener::bind(address).await.map_err(|why| ServerError::Listen { address, why })
}
