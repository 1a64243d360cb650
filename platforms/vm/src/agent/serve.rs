//! Answers requests of the host process, each in a task of its own unless their order matters.

use std::fs::{self, File};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use barograph_platform::{DiskFill, Disks, Fault, HERE, Ledger, MissingRequirement, Site, SiteSpec};
use barograph_platform_process::{HostEntry, Local};
use rustix::time::{ClockId, Timespec, clock_settime};

use super::counters::Counters;
use super::speak::{AgentWriter, speak};
use super::units::Units;
use super::{AgentError, log_folder};
use crate::clock::now_nanos;
use crate::host_commands::failed;
use crate::wire::{AgentCommand, AgentReply, Message, Request, WireFault};

/// Path of the guest's own ledger, which is lost with the guest's memory.
const LEDGER: &str = "/run/barograph-ledger";

/// Serves until told to end.
pub(super) async fn serve(address: IpAddr, site: SiteSpec, from: File, to: File) -> Result<(), AgentError> {
    let logs = log_folder(&site);
    fs::create_dir_all(&logs).map_err(|error| AgentError::Begin("make the folder of logs", error))?;
    let ledger = Ledger::open(LEDGER)?;
    let on = HostEntry { address, prefix: Vec::new(), own_ports: true };
    let local = Arc::new(Local::open(&site, &ledger).with_host(HERE, on));
    let (mut requests, voice) = speak(from, to)?;
    let units = Arc::new(Units::new(local.clone(), voice.clone(), logs));
    let counters = Arc::new(Counters::open());
    voice.say(&Message::Hello { up: uptime() }, &[]);
    while let Some(Request { id, ask }) = requests.recv().await {
        match ask {
            AgentCommand::Leave => {
                units.end_all().await;
                rustix::fs::sync();
                voice.say(&Message::Answer { id, answer: Ok(AgentReply::Done) }, &[]);
                return Ok(());
            }
            AgentCommand::Hold => {
                say_last_blocking(&voice, Message::Answer { id, answer: Ok(AgentReply::Done) }).await;
                continue;
            }
            AgentCommand::GoOn => {
                voice.go_on();
                continue;
            }
            AgentCommand::Keep(wanted) => {
                // A unit created next is not among those removed.
                let answer = units.keep(&wanted).await.map_err(|fault| WireFault::from(&fault));
                say_blocking(&voice, Message::Answer { id, answer }).await;
                continue;
            }
            AgentCommand::Create { unit, .. } => units.announce(unit),
            _ => {}
        }
        let (units, voice, local, counters) = (units.clone(), voice.clone(), local.clone(), counters.clone());
        tokio::spawn(async move {
            let answer = answer(ask, (&units, &counters), &local).await;
            let answer = answer.map_err(|fault| WireFault::from(&fault));
            say_blocking(&voice, Message::Answer { id, answer }).await;
        });
    }
    Err(AgentError::PortEnded)
}

/// Waiting for the port must not block a thread of the runtime.
pub(super) async fn say_blocking(voice: &AgentWriter, message: Message) {
    let voice = voice.clone();
    // Fails only when the runtime ends, and everything with it.
    let _ = tokio::task::spawn_blocking(move || voice.say(&message, &[])).await;
}

/// As [`say_blocking`], with nothing sent after it.
async fn say_last_blocking(voice: &AgentWriter, message: Message) {
    let voice = voice.clone();
    let _ = tokio::task::spawn_blocking(move || voice.say_last(&message)).await;
}

async fn answer(
    ask: AgentCommand,
    (units, counters): (&Arc<Units>, &Counters),
    local: &Local,
) -> Result<AgentReply, Fault> {
    match ask {
        AgentCommand::Preflight(mut unit) => {
            unit.log = units.log_of(&unit.name);
            Ok(match local.preflight(&unit).await {
                Ok(facts) => AgentReply::Facts(facts),
                Err(MissingRequirement { what, hint }) => AgentReply::Missing { what, hint },
            })
        }
        AgentCommand::Create { unit, what } => units.create(unit, what).await,
        AgentCommand::Stop { unit, grace } => units.stop(unit, grace).await,
        AgentCommand::Kill { unit } => units.kill(unit).await,
        AgentCommand::Pause { unit } => {
            apart(units, "hold a unit", move |units| units.pause(unit, true)).await
        }
        AgentCommand::Resume { unit } => {
            apart(units, "let a unit go on", move |units| units.pause(unit, false)).await
        }
        AgentCommand::Limit { unit, limits } => {
            apart(units, "limit a unit", move |units| units.limit(unit, &limits)).await
        }
        AgentCommand::FillDisk(unit) => {
            let DiskFill { bytes, kind } = disks(local)?.fill(&unit).await?;
            Ok(AgentReply::Filled { bytes, kind })
        }
        AgentCommand::FreeDisk(unit) => disks(local)?.free(&unit).await.map(|()| AgentReply::Done),
        AgentCommand::Ping => Ok(AgentReply::Clock(now_nanos())),
        AgentCommand::MoveClock(nanos) => move_clock(nanos),
        AgentCommand::Counters => Ok(AgentReply::Counters(counters.read(&units.all_running()))),
        AgentCommand::Sync => {
            let synced = tokio::task::spawn_blocking(rustix::fs::sync).await;
            synced.map_err(|error| failed("write to the disk", error))?;
            Ok(AgentReply::Done)
        }
        // Handled before.
        AgentCommand::Leave | AgentCommand::Hold | AgentCommand::GoOn | AgentCommand::Keep(_) => {
            Ok(AgentReply::Done)
        }
    }
}

/// Acts on units, which may take seconds: a group freezes late, and the kernel makes room before it reduces
/// memory. Runs on another thread, as the agent has few.
async fn apart(
    units: &Arc<Units>,
    act: &'static str,
    work: impl FnOnce(&Units) -> Result<AgentReply, Fault> + Send + 'static,
) -> Result<AgentReply, Fault> {
    let units = Arc::clone(units);
    let done = tokio::task::spawn_blocking(move || work(&units)).await;
    done.unwrap_or_else(|error| Err(failed(act, error)))
}

fn disks(local: &Local) -> Result<&dyn Disks, Fault> {
    local.disks().ok_or_else(|| failed("find the disk of a unit", "no unit has one of its own"))
}

fn move_clock(nanos: i64) -> Result<AgentReply, Fault> {
    let to = now_nanos().saturating_add(nanos).max(0);
    let time = Timespec { tv_sec: to / 1_000_000_000, tv_nsec: to % 1_000_000_000 };
    clock_settime(ClockId::Realtime, time).map_err(|error| failed("set the guest's clock", error))?;
    Ok(AgentReply::Done)
}

fn uptime() -> Duration {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = text.split_ascii_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    Duration::try_from_secs_f64(seconds.unwrap_or(0.0)).unwrap_or_default()
}
