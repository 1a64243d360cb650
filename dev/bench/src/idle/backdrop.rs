//! Surroundings of a measured service: a server that always reports health, and a separate host for services
//! that change the network.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, ensure};
use barograph_platform_process::HostEntry;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers every piece it reads as HTTP, which satisfies health checks.
pub(crate) async fn well_server() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut piece = [0; 4096];
                while stream.read(&mut piece).await.is_ok_and(|n| n > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                    if stream.write_all(answer).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    Ok(at)
}

/// A network namespace with a device `eth0` whose other end is in it too. It is removed when this is dropped.
pub(crate) struct OwnHost {
    name: String,
}

impl OwnHost {
    pub(crate) fn make() -> anyhow::Result<Self> {
        let host = OwnHost { name: format!("bg-cost-{}", std::process::id()) };
        let name = &host.name;
        for command in [
            format!("netns add {name}"),
            format!("-n {name} link add eth0 type veth peer name eth1"),
            format!("-n {name} addr add 10.213.0.1/24 dev eth0"),
            format!("-n {name} link set lo up"),
            format!("-n {name} link set eth0 up"),
            format!("-n {name} link set eth1 up"),
        ] {
            ip(&command)?;
        }
        Ok(host)
    }

    pub(crate) fn on(&self) -> HostEntry {
        let prefix = ["nsenter".to_owned(), format!("--net=/run/netns/{}", self.name), "--".to_owned()];
        HostEntry { address: [10, 213, 0, 1].into(), prefix: prefix.to_vec(), own_ports: true }
    }
}

impl Drop for OwnHost {
    fn drop(&mut self) {
        // If it was never made, there is nothing to remove.
        let _ = ip(&format!("netns del {}", self.name));
    }
}

fn ip(command: &str) -> anyhow::Result<()> {
    let output = Command::new("ip").args(command.split(' ')).output().context("start ip")?;
    ensure!(output.status.success(), "ip {command}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}
