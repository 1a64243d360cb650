//! The smallest program for guests: their agent, and the relay of the switch. Tests use it instead of
//! `barograph`, and further to echo data, and to open a site and be killed.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use barograph_platform::{Ledger, SiteSpec};
use barograph_platform_vm::{Program, VmPlatform};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first() {
        Some((word, rest)) if word == "agent" => said(barograph_platform_vm::agent_main(rest)),
        Some((word, rest)) if word == "relay" => said(barograph_virtual_network::relay_main(rest.to_vec())),
        Some((word, rest)) if word == "echo" => said(echo(rest)),
        Some((word, rest)) if word == "open" => said(open(rest)),
        _ => said(Err(io::Error::other("wanted is agent, relay, echo or open"))),
    }
}

#[expect(clippy::print_stderr, reason = "a program of its own")]
fn said(done: Result<(), impl std::error::Error>) -> ExitCode {
    let Err(error) = done else { return ExitCode::SUCCESS };
    eprintln!("failed to {error}");
    let mut next = error.source();
    while let Some(cause) = next {
        eprintln!("  {cause}");
        next = cause.source();
    }
    ExitCode::FAILURE
}

/// Sends back everything received on each connection to a port.
#[expect(clippy::print_stdout, reason = "the ready line")]
fn echo(args: &[String]) -> io::Result<()> {
    let port = args.first().map(String::as_str).unwrap_or("0");
    let listener = TcpListener::bind(format!("0.0.0.0:{port}"))?;
    println!("{{\"ready\":true,\"address\":\"{}\"}}", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        thread::spawn(move || give_back(stream));
    }
    Ok(())
}

fn give_back(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut piece = [0; 4096];
    loop {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        stream.write_all(&piece[..count])?;
    }
}

/// Opens the site in a JSON text with a ledger, prints a line, and waits to be killed.
#[expect(clippy::print_stdout, reason = "it says that the site is open")]
fn open(args: &[String]) -> io::Result<()> {
    let [site, ledger] = args else { return Err(io::Error::other("wanted are a site and a ledger")) };
    let site: SiteSpec = serde_json::from_str(site)?;
    let ledger = Ledger::open(Path::new(ledger)).map_err(io::Error::other)?;
    let word = |word: &str| vec![word.to_owned()];
    let program = Program { path: std::env::current_exe()?, agent: word("agent"), relay: word("relay") };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let site =
        runtime.block_on(VmPlatform::new(program).open_site(&site, &ledger)).map_err(io::Error::other)?;
    println!("open");
    io::stdin().read_exact(&mut [0])?;
    drop(site);
    Ok(())
}
