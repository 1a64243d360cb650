//! Probe of stores outside of the load, through everything in front of them.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use barograph_resp::{Address, Command, Host, ReadResult, Reply, reply};

/// Time limit of one answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The requested key; it is outside of the key space of a load with a prefix.
const KEY: &[u8] = b"barograph:ready";

/// Checks that each store at `url` answers a command. The error describes another answer.
pub(crate) async fn answers(url: String) -> Result<(), String> {
    let asked = tokio::task::spawn_blocking(move || {
        let address = Address::parse(&url).map_err(|why| why.to_string())?;
        address.hosts.iter().try_for_each(|host| one(host).map_err(|why| format!("{host}: {why}")))
    });
    asked.await.unwrap_or_else(|why| Err(why.to_string()))
}

/// Requests a key that was never written from one store.
fn one(host: &Host) -> Result<(), String> {
    let failed = |why: std::io::Error| why.to_string();
    let Host::Tcp { name, port } = host else { return Err("it is no network address".to_owned()) };
    let found = (name.as_str(), *port).to_socket_addrs().map_err(failed)?.next();
    let found = found.ok_or_else(|| "its name leads nowhere".to_owned())?;
    let mut stream = TcpStream::connect_timeout(&found, PATIENCE).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut bytes = Vec::new();
    Command::write(&mut bytes, &[b"GET", KEY]);
    stream.write_all(&bytes).map_err(failed)?;
    bytes.clear();
    loop {
        let mut room = [0; 1024];
        match stream.read(&mut room).map_err(failed)? {
            0 => return Err("it closed the connection".to_owned()),
            n => bytes.extend_from_slice(&room[..n]),
        }
        match reply(&bytes).map_err(|why| why.to_string())? {
            ReadResult::Part { .. } => {}
            ReadResult::Whole { reply: Reply::Error(text), .. } => {
                return Err(String::from_utf8_lossy(text).into_owned());
            }
            ReadResult::Whole { .. } => return Ok(()),
        }
    }
}
