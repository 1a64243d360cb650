//! The embedded store: a small server of RESP2 and RESP3 that keeps everything in memory, so that a first run
//! needs no other program. One thread serves all connections, as in Redis.

mod execute;
mod table;

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use barograph_resp::request;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use execute::Session;
use table::Table;

/// Buffer for the first read.
const READ_ROOM: usize = 16 * 1024;

/// Most bytes of a command, and of unsent replies.
const LARGEST: usize = 64 * 1024 * 1024;

/// Most commands of one connection in a row before others have their turn.
const IN_A_ROW: usize = 256;

/// Resolution of expiry.
const TICK: Duration = Duration::from_millis(10);

/// Options of a store.
pub(crate) struct StoreOptions {
    /// The address to listen at; port 0 chooses a free one.
    pub(crate) listen: SocketAddr,
    /// Most bytes of keys and values; a write beyond them is refused.
    pub(crate) max_bytes: u64,
    /// Most connections at once; more are closed.
    pub(crate) max_connections: usize,
}

/// A listening store.
pub(crate) struct Store {
    listener: TcpListener,
    table: Rc<RefCell<Table>>,
    max_connections: usize,
}

impl Store {
    /// Binds its address. Must run in a runtime of one thread, within a `LocalSet`, like all later calls.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub(crate) async fn bind(options: &StoreOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        let table = Rc::new(RefCell::new(Table::new(options.max_bytes)));
        Ok(Store { listener, table, max_connections: options.max_connections })
    }

    /// The bound address.
    ///
    /// # Errors
    /// If the system does not return it.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves connections for as long as it is polled.
    pub(crate) async fn serve(self) {
        let open = Rc::new(());
        tokio::task::spawn_local(expire(Rc::downgrade(&self.table)));
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // No open file is left: others may be closed soon.
                tokio::time::sleep(TICK).await;
                continue;
            };
            if Rc::strong_count(&open) <= self.max_connections {
                let (table, open) = (Rc::clone(&self.table), Rc::clone(&open));
                tokio::task::spawn_local(async move {
                    // A broken connection ends alone.
                    let _ = connection(stream, &table).await;
                    drop(open);
                });
            }
        }
    }
}

/// Advances the table's time, and removes expired keys.
async fn expire(table: std::rc::Weak<RefCell<Table>>) {
    let mut ticks = tokio::time::interval(TICK);
    let begin = ticks.tick().await;
    loop {
        let now = ticks.tick().await.duration_since(begin);
        let Some(table) = table.upgrade() else { return };
        table.borrow_mut().advance(now.as_millis() as u64);
    }
}

async fn connection(mut stream: TcpStream, table: &RefCell<Table>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut input, mut out) = (Vec::with_capacity(READ_ROOM), Vec::new());
    let mut session = Session::default();
    loop {
        input.reserve(READ_ROOM);
        if stream.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
        loop {
            let (taken, more) = commands(&input, &mut session, table, &mut out);
            input.drain(..taken);
            stream.write_all(&out).await?;
            out.clear();
            if session.is_over() || input.len() > LARGEST {
                return Ok(());
            }
            if !more {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Executes whole commands at the front of `input`; returns their bytes, and whether others may follow at
/// once.
fn commands(input: &[u8], session: &mut Session, table: &RefCell<Table>, out: &mut Vec<u8>) -> (usize, bool) {
    let (mut at, mut words) = (0, Vec::new());
    let table = &mut *table.borrow_mut();
    for _ in 0..IN_A_ROW {
        match request(&input[at..], &mut words) {
            Ok(Some(length)) => {
                at += length;
                if !words.is_empty() {
                    session.execute(table, &words, out);
                }
                if session.is_over() || out.len() > LARGEST {
                    return (at, false);
                }
            }
            Ok(None) => return (at, false),
            Err(why) => {
                session.refuse(out, &why.to_string());
                return (at, false);
            }
        }
    }
    (at, true)
}
