//! The program that the tests of this crate start: the relay of a switch, and a switch that is built step by
//! step. It prints each step, and waits to be killed or for its stdin to end.
//!
//! Usage: `relay ...`, or `steps LEDGER ID STEP...`, where a step is `host=NAME`, `tap=NAME`, `delay=NAME`,
//! `limit=NAME`, `talk=FROM,TO`, `cut=NAME`, `heal` or `close`.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

use barograph_platform::{Ledger, LinkSpec};
use barograph_virtual_network::{RelayProgram, Switch, inside, relay_main, rootless};

type ExampleResult<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExampleResult<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((word, rest)) if word == "relay" => Ok(relay_main(rest.to_vec())?),
        Some((word, rest)) if word == "steps" => make(&words, rest),
        _ => Err("wanted is relay or steps".into()),
    }
}

fn make(words: &[String], rest: &[String]) -> ExampleResult<()> {
    if rootless::needed() {
        return Err(rootless::command(&std::env::current_exe()?, words).exec().into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(steps(rest))
}

async fn steps(words: &[String]) -> ExampleResult<()> {
    let [ledger, id, steps @ ..] = words else { return Err("usage: steps LEDGER ID STEP...".into()) };
    let relay = RelayProgram { program: std::env::current_exe()?, args: vec!["relay".to_owned()] };
    let ledger = Ledger::open(Path::new(ledger))?;
    let mut switch = Some(Switch::open(id, relay, &ledger).await?);
    say("open")?;
    for step in steps {
        let (verb, name) = step.split_once('=').unwrap_or((step, ""));
        if verb == "close" {
            if let Some(switch) = switch.take() {
                switch.close().await?;
            }
        } else if let Some(switch) = &switch {
            one(switch, id, verb, name).await?;
        }
        say(step)?;
    }
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

async fn one(switch: &Switch, id: &str, verb: &str, name: &str) -> ExampleResult<()> {
    let plain = LinkSpec::default();
    match verb {
        "host" => drop(switch.host(name, &plain).await?),
        "tap" => drop(switch.tap(name, &plain).await?),
        "delay" => switch.shape(name, LinkSpec { delay: Duration::from_millis(5), ..plain }).await?,
        "limit" => switch.shape(name, LinkSpec { bits_per_second: Some(50_000_000), ..plain }).await?,
        "cut" => switch.partition(&[name.to_owned()]).await?,
        "heal" => switch.heal().await?,
        "talk" => {
            let (from, to) = name.split_once(',').ok_or("talk=FROM,TO")?;
            let address = switch.address(to).ok_or("no such host")?;
            talk(format!("bg-{id}-{from}"), &format!("bg-{id}-{to}"), address)?;
        }
        _ => return Err(format!("no such step: {verb}").into()),
    }
    Ok(())
}

/// Sends one word over TCP, there and back.
fn talk(from: String, to: &str, address: IpAddr) -> ExampleResult<()> {
    let listener = inside(to, move || TcpListener::bind((address, 0)))??;
    let at = listener.local_addr()?;
    let asker = std::thread::spawn(move || -> std::io::Result<Vec<u8>> {
        let wait = Duration::from_secs(30);
        let mut stream =
            inside(&from, move || TcpStream::connect_timeout(&at, wait)).map_err(std::io::Error::other)??;
        stream.set_read_timeout(Some(wait))?;
        stream.write_all(b"word")?;
        let mut answer = vec![0; 4];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    });
    let (mut stream, _) = listener.accept()?;
    let mut word = [0; 4];
    stream.read_exact(&mut word)?;
    stream.write_all(&word)?;
    let answer = asker.join().map_err(|_| "the asker panicked")??;
    if answer == b"word" { Ok(()) } else { Err("another word came back".into()) }
}

fn say(step: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{step}")?;
    out.flush()
}
