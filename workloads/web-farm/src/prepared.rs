//! A load prepared for its servers; shared by all workers.

use std::error::Error;
use std::time::Duration;

use barograph_http::{
    Client, Method, Options, Policy, PreparedRequest, Protocol, Request, ResolvedTarget, Target,
};
use barograph_model::words::in_one_line;
use barograph_reactor::block_on;

use crate::sets::{SetFile, Sets};
use crate::user::FarmUser;

/// Time limit of a server's first answer before the load.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// Any failure to prepare a load.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// A load prepared for its servers.
pub(crate) struct PreparedLoad {
    pub(crate) servers: Vec<PreparedServer>,
    /// Whether hashes are compared.
    pub(crate) verify: bool,
}

/// A server with the requests for its set.
pub(crate) struct PreparedServer {
    pub(crate) target: ResolvedTarget,
    pub(crate) files: Vec<ExpectedFile>,
}

/// The request for a file, and the file as it should come.
pub(crate) struct ExpectedFile {
    pub(crate) request: PreparedRequest,
    pub(crate) length: usize,
    /// CRC-32 of its bytes.
    pub(crate) hash: u32,
}

impl PreparedLoad {
    /// Prepares the load of the servers in a URL, which answer: `http://HOST:PORT,HOST:PORT`. Blocks.
    ///
    /// # Errors
    /// A server that does not answer, or an address that is malformed.
    pub(crate) fn new(url: &str, sets: &Sets, (connections, verify): (u32, bool)) -> Result<Self, Cause> {
        let options =
            Options { protocol: Protocol::Http1, policy: Policy::PerUser(connections), ..Options::default() };
        let server = |(number, url): (u32, String)| {
            let target = Target::parse(&url, &options)?.resolve()?.answering(FIRST_ANSWER)?;
            let file = |file: SetFile| ExpectedFile::new(&target, &file, verify);
            let files = sets.of(number).into_iter().map(file).collect::<Result<_, Cause>>()?;
            Ok(PreparedServer { target, files })
        };
        let servers = (1..).zip(addresses(url)).map(server).collect::<Result<_, Cause>>()?;
        Ok(PreparedLoad { servers, verify })
    }

    /// Asks every server for its page. Blocks.
    ///
    /// # Errors
    /// The first wrong answer.
    pub(crate) fn ask_all(&self) -> Result<(), Cause> {
        for server in &self.servers {
            let user = Client::new(&server.target).user(0);
            let Some(page) = server.files.first() else { continue };
            let answer = block_on(FarmUser::fetch(&user, page, self.verify))?;
            answer.map_err(|wrong| format!("{}: {}", server.target.target().authority(), wrong.why))?;
        }
        Ok(())
    }
}

impl ExpectedFile {
    fn new(target: &ResolvedTarget, file: &SetFile, verify: bool) -> Result<Self, Cause> {
        let path = format_args!("/{}", file.name);
        let request = Request { method: Method::GET, path, headers: &[], body: None };
        let request = PreparedRequest::new(target.target(), &request)?;
        Ok(ExpectedFile {
            // Content that is not compared is not kept either.
            request: request.counting_body(!verify),
            length: file.bytes.len(),
            hash: crc32fast::hash(&file.bytes),
        })
    }
}

/// Checks that the addresses in a URL are well-formed.
///
/// # Errors
/// The fault of the first that is not, in words.
pub(crate) fn check_addresses(url: &str) -> Result<(), String> {
    let check = |url: String| Target::parse(&url, &Options::default()).map(drop);
    addresses(url).try_for_each(check).map_err(|why| in_one_line(&why))
}

/// The URL of each server of a load.
fn addresses(url: &str) -> impl Iterator<Item = String> {
    let (scheme, all) = url.split_once("://").unwrap_or(("http", url));
    all.split(',').map(move |address| format!("{scheme}://{address}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_every_server() {
        let of = |url| addresses(url).collect::<Vec<_>>();
        assert_eq!(of("http://10.0.0.1:80,10.0.0.2:81"), ["http://10.0.0.1:80", "http://10.0.0.2:81"]);
        assert_eq!(of("http://localhost:80"), ["http://localhost:80"]);
        assert_eq!(of("localhost:80"), ["http://localhost:80"]);
    }
}
