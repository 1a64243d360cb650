//! Targets of the drivers: stores with filled keys, and proxies before them, all on one core.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use super::tools::KEYS;
use crate::contest::server::free_port;
use crate::contest::{PinnedProgram, Server, TARGET_CPU, programs};

/// Commands of a fill in flight: few, since proxies are slow with a large pipeline.
const AT_ONCE: u32 = 100;

/// The reply to a SET.
const STORED: &[u8] = b"+OK\r\n";

/// Time limit of an answer from a store or a proxy.
const PATIENCE: Duration = Duration::from_secs(10);

/// Role of a server in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tier {
    Store,
    Twemproxy,
    Haproxy,
}

/// All roles.
pub(super) const TIERS: [Tier; 3] = [Tier::Store, Tier::Twemproxy, Tier::Haproxy];

impl Tier {
    /// The program, and the Debian package that contains it.
    pub(super) fn program(self) -> &'static str {
        match self {
            Tier::Store => "redis-server",
            Tier::Twemproxy => "nutcracker",
            Tier::Haproxy => "haproxy",
        }
    }

    /// The first line of its version.
    pub(super) fn version(self, program: &Path) -> String {
        programs::version(program, if self == Tier::Haproxy { "-v" } else { "--version" })
    }
}

/// The available programs of the tiers.
pub(super) type Programs = Vec<(Tier, PathBuf)>;

/// A way from the driver to the data.
pub(super) struct ServerChain {
    pub(super) name: &'static str,
    /// Servers by their index in the stand; the driver connects to the first one.
    parts: Vec<usize>,
}

/// Running servers, and the chains that they make. All end when this is dropped.
pub(super) struct BenchServers {
    servers: Vec<(Tier, Server)>,
    pub(super) chains: Vec<ServerChain>,
}

/// Work and resources of a chain so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Account {
    /// Commands executed by stores.
    pub(super) commands: u64,
    /// Requested keys that did not exist.
    pub(super) misses: u64,
    /// User and system time, s, in the order of [`TIERS`]; `None` for a tier that is not in the chain.
    pub(super) cpu_s: [Option<f64>; 3],
}

impl Account {
    /// The difference to `before`.
    pub(super) fn since(&self, before: &Account) -> Account {
        let cpu_s = std::array::from_fn(|tier| Some(self.cpu_s[tier]? - before.cpu_s[tier]?));
        Account { commands: self.commands - before.commands, misses: self.misses - before.misses, cpu_s }
    }
}

impl BenchServers {
    /// A stand of one store.
    pub(super) fn direct(programs: &Programs, folder: &Path) -> anyhow::Result<BenchServers> {
        let mut stand = BenchServers { servers: Vec::new(), chains: Vec::new() };
        let store = stand.store(programs, folder)?;
        stand.chains.push(ServerChain { name: "direct", parts: vec![store] });
        Ok(stand)
    }

    /// A stand of two stores, with the available proxies before them.
    pub(super) fn proxies(programs: &Programs, folder: &Path) -> anyhow::Result<BenchServers> {
        let mut stand = BenchServers::direct(programs, folder)?;
        let (one, two) = (0, stand.store(programs, folder)?);
        if of(programs, Tier::Twemproxy).is_some() {
            for (name, stores) in [("twemproxy, 1 store", vec![one]), ("twemproxy, 2 stores", vec![one, two])]
            {
                let ports: Vec<u16> = stores.iter().map(|at| stand.servers[*at].1.port()).collect();
                let proxy = stand.twemproxy(programs, folder, &ports)?;
                stand.chains.push(ServerChain { name, parts: [vec![proxy], stores].concat() });
            }
        }
        if of(programs, Tier::Haproxy).is_some() {
            let proxy = stand.haproxy(programs, folder, stand.servers[one].1.port())?;
            stand.chains.push(ServerChain { name: "HAProxy, 1 store", parts: vec![proxy, one] });
        }
        Ok(stand)
    }

    fn store(&mut self, programs: &Programs, folder: &Path) -> anyhow::Result<usize> {
        self.start(programs, Tier::Store, folder, |port, own| {
            Ok(format!(
                "--port {port} --bind 127.0.0.1 --save  --appendonly no --maxclients 9000 --dir {dir} --logfile {dir}/log",
                dir = own.display()
            )
            .split(' ')
            .map(str::to_owned)
            .collect())
        })
    }

    fn twemproxy(&mut self, programs: &Programs, folder: &Path, stores: &[u16]) -> anyhow::Result<usize> {
        let statistics = free_port()?;
        self.start(programs, Tier::Twemproxy, folder, |port, own| {
            let file = own.join("nutcracker.yml");
            fs::write(&file, twemproxy_configuration(port, stores))?;
            let (file, log) = (file.display(), own.join("log"));
            Ok(programs::words(&format!("-c {file} -s {statistics} -a 127.0.0.1 -o {}", log.display())))
        })
    }

    fn haproxy(&mut self, programs: &Programs, folder: &Path, store: u16) -> anyhow::Result<usize> {
        self.start(programs, Tier::Haproxy, folder, |port, own| {
            let file = own.join("haproxy.cfg");
            fs::write(&file, haproxy_configuration(port, store))?;
            Ok(programs::words(&format!("-f {} -db", file.display())))
        })
    }

    /// Starts a server on a free port with a folder of its own, and returns its index.
    fn start(
        &mut self,
        programs: &Programs,
        tier: Tier,
        folder: &Path,
        arguments: impl FnOnce(u16, &Path) -> anyhow::Result<Vec<String>>,
    ) -> anyhow::Result<usize> {
        let program = of(programs, tier).with_context(|| format!("find {}", tier.program()))?.to_path_buf();
        let own = tempfile::tempdir_in(folder)?.keep();
        let port = free_port()?;
        let arguments = arguments(port, &own)?;
        let pinned = PinnedProgram { program, arguments, cpu: TARGET_CPU, fine: &[0] };
        self.servers.push((tier, Server::start(&pinned, port, &own.join("log"))?));
        Ok(self.servers.len() - 1)
    }

    /// The driver's port of a chain.
    pub(super) fn port(&self, chain: usize) -> u16 {
        self.servers[self.chains[chain].parts[0]].1.port()
    }

    /// The first store of a chain.
    pub(super) fn first_store(&self, chain: usize) -> Option<&Server> {
        self.parts(chain).find(|(tier, _)| *tier == Tier::Store).map(|(_, server)| server)
    }

    fn parts(&self, chain: usize) -> impl Iterator<Item = &(Tier, Server)> {
        self.chains[chain].parts.iter().map(|at| &self.servers[*at])
    }

    /// Writes values of `value_bytes` bytes to all keys named by these functions, through each chain.
    pub(super) fn fill(&self, keys: &[fn(u32) -> String], value_bytes: u32) -> anyhow::Result<()> {
        for chain in 0..self.chains.len() {
            for key in keys {
                fill(self.port(chain), *key, value_bytes)
                    .with_context(|| format!("fill the keys, {}", self.chains[chain].name))?;
            }
        }
        Ok(())
    }

    pub(super) fn account(&self, chain: usize) -> anyhow::Result<Account> {
        let mut account = Account::default();
        for (tier, server) in self.parts(chain) {
            let cpu = &mut account.cpu_s[*tier as usize];
            *cpu = Some(cpu.unwrap_or(0.0) + server.cpu_s()?);
            if *tier == Tier::Store {
                let said = statistics(server.port()).context("ask a store what it has done")?;
                let of = |name| statistic(&said, name).with_context(|| format!("find {name} in `{said}`"));
                account.commands += of("total_commands_processed")?;
                account.misses += of("keyspace_misses")?;
            }
        }
        Ok(account)
    }
}

fn of(programs: &Programs, tier: Tier) -> Option<&Path> {
    programs.iter().find(|(of, _)| *of == tier).map(|(_, program)| program.as_path())
}

fn connect(port: u16) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn fill(port: u16, key: fn(u32) -> String, value_bytes: u32) -> anyhow::Result<()> {
    let mut stream = connect(port)?;
    let value = "x".repeat(value_bytes as usize);
    for first in (0..KEYS).step_by(AT_ONCE as usize) {
        let numbers = first..KEYS.min(first + AT_ONCE);
        let mut replies = vec![0; numbers.len() * STORED.len()];
        let commands: String = numbers.map(|number| set(&key(number), &value)).collect();
        stream.write_all(commands.as_bytes())?;
        stream.read_exact(&mut replies)?;
        if replies.chunks(STORED.len()).any(|reply| reply != STORED) {
            bail!("the answer to SET is `{}`", String::from_utf8_lossy(&replies));
        }
    }
    Ok(())
}

/// A SET in the form for proxies, which do not support inline commands.
fn set(key: &str, value: &str) -> String {
    format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${}\r\n{value}\r\n", key.len(), value.len())
}

fn statistics(port: u16) -> anyhow::Result<String> {
    let mut stream = connect(port)?;
    stream.write_all(b"INFO stats\r\nQUIT\r\n")?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    Ok(said)
}

fn statistic(said: &str, name: &str) -> Option<u64> {
    said.lines().find_map(|line| line.split_once(':').filter(|(n, _)| *n == name)?.1.trim().parse().ok())
}

/// One connection to each store, as in the measurements for comparison.
fn twemproxy_configuration(port: u16, stores: &[u16]) -> String {
    let servers: String = stores.iter().map(|store| format!("   - 127.0.0.1:{store}:1\n")).collect();
    format!(
        "main:\n  listen: 127.0.0.1:{port}\n  hash: fnv1a_64\n  distribution: ketama\n  redis: true\n  preconnect: true\n  \
         server_connections: 1\n  auto_eject_hosts: false\n  servers:\n{servers}"
    )
}

fn haproxy_configuration(port: u16, store: u16) -> String {
    format!(
        "global\n  nbthread 1\n  maxconn 9000\n\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  \
         timeout server 60s\n\nlisten main\n  bind 127.0.0.1:{port}\n  balance roundrobin\n  server one 127.0.0.1:{store}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_the_lengths_of_its_words() {
        assert_eq!(set("key:01", "xxx"), "*3\r\n$3\r\nSET\r\n$6\r\nkey:01\r\n$3\r\nxxx\r\n");
    }

    #[test]
    fn statistics_are_found_by_their_whole_name() {
        let said = "$60\r\n# Stats\r\nold_keyspace_misses:9\r\nkeyspace_misses:4\r\ntotal_commands_processed:70\r\n\r\n+OK\r\n";
        assert_eq!(statistic(said, "keyspace_misses"), Some(4));
        assert_eq!(statistic(said, "total_commands_processed"), Some(70));
        assert_eq!(statistic(said, "misses"), None);
    }

    #[test]
    fn accounts_are_of_a_span_and_of_the_tiers_that_are_there() {
        let before = Account { commands: 10, misses: 1, cpu_s: [Some(1.0), None, Some(0.5)] };
        let after = Account { commands: 30, misses: 1, cpu_s: [Some(1.5), None, Some(1.5)] };
        let span = Account { commands: 20, misses: 0, cpu_s: [Some(0.5), None, Some(1.0)] };
        assert_eq!(after.since(&before), span);
    }

    #[test]
    fn proxies_listen_on_loopback_and_know_their_stores() {
        let text = twemproxy_configuration(81, &[82, 83]);
        assert!(text.contains("listen: 127.0.0.1:81\n") && text.contains("   - 127.0.0.1:83:1\n"), "{text}");
        let text = haproxy_configuration(81, 82);
        assert!(text.contains("bind 127.0.0.1:81\n") && text.contains("server one 127.0.0.1:82\n"), "{text}");
    }
}
