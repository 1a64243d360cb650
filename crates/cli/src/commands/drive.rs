//! `barograph drive`: this program as one of several drivers of a run.

use std::io::{self, ErrorKind, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use barograph_harness::HarnessError;
use barograph_harness::fleet::driver::Driver;
use barograph_harness::fleet::{Clock, Made, Sent, Token};
use barograph_record::ExitCode;
use barograph_spec::{Plan, Refusal, Refused};

use super::serve::when_input_ends;
use super::{Done, Failed};
use crate::args::DriveArgs;
use crate::catalog::{self, Failures, Found, ScenarioKind};
use crate::{machine, terminal};

/// This program and its version, as harness and drivers compare it.
pub(crate) fn tool() -> String {
    format!("barograph {} ({})", env!("CARGO_PKG_VERSION"), env!("BAROGRAPH_COMMIT"))
}

/// Drives until the load is over, or nobody wants it any more.
pub(crate) fn drive(args: &DriveArgs) -> Done {
    let refused = |why: anyhow::Error| Failed::new(ExitCode::Refused, why);
    let clock = Clock::start();
    let token = Token::read(&args.token_file)
        .with_context(|| format!("read the secret in `{}`", args.token_file.display()))
        .map_err(refused)?;
    let listener = TcpListener::bind(args.listen)
        .with_context(|| format!("listen at {}: choose a free port with --listen, or port 0", args.listen))
        .map_err(refused)?;
    let address = listener.local_addr().context("find the address listened at").map_err(refused)?;
    let driver = Driver {
        listener,
        token,
        tool: tool(),
        cores: machine::cores(),
        open_files: machine::raise_open_files(),
        clock,
        kinds: Arc::new(made),
    };
    let runtime = super::run::runtime()?;
    let (told, tell) = tokio::sync::oneshot::channel::<()>();
    if args.supervised {
        when_input_ends(move || drop(told));
    }
    let supervised = args.supervised;
    let served = runtime.block_on(async {
        terminal::result(&format!(r#"{{"ready":true,"address":"{address}"}}"#));
        tokio::select! {
            served = driver.serve() => served,
            // Ends when the sender is dropped.
            _ = tell, if supervised => Ok(()),
        }
    });
    // A load that somebody prepares meanwhile may take seconds to give up.
    runtime.shutdown_background();
    match served {
        Ok(()) => Ok(ExitCode::Fine),
        Err(why) => Err(Failed::new(why.exit_code(), why)),
    }
}

/// The workload of a plan that was sent, made of the files that came with it.
fn made(sent: Sent<'_>) -> Result<Made, HarnessError> {
    let Sent { plan, files } = sent;
    let found = if plan.workload == "scenario" {
        scenario(plan, &files)?
    } else {
        // Read when the workload is made, and not needed after.
        let _kept = authorities(plan, &files)?;
        catalog::workload(plan)?
    };
    let Found { kind, scenario } = found;
    let told = move || {
        let failures = scenario.iter().flat_map(|scenario| scenario.failures());
        failures.map(|failure: Failures| failure.line()).collect()
    };
    Ok(Made { kind, told: Box::new(told) })
}

/// The scenario is the first file; those that it names are the others.
fn scenario(plan: &Plan, files: &[(PathBuf, Vec<u8>)]) -> Result<Found, HarnessError> {
    let Some((path, text)) = files.first() else {
        return Err(not_sent(plan, "scenario", "nothing".to_owned()));
    };
    let name = path.display().to_string();
    let Ok(text) = std::str::from_utf8(text) else { return Err(not_sent(plan, "scenario", name)) };
    let read = |wanted: &Path| {
        let found = files.iter().find(|(path, _)| path == wanted);
        found.map(|(_, bytes)| bytes.clone()).ok_or_else(|| io::Error::from(ErrorKind::NotFound))
    };
    let scenario = barograph_scenario::read(&name, text, &read)?;
    Ok(Found::from(ScenarioKind::new(scenario)))
}

/// Puts the authorities that came along, if any did, where the plan can name them: this host may not have the file.
fn authorities(
    plan: &mut Plan,
    files: &[(PathBuf, Vec<u8>)],
) -> Result<Option<tempfile::NamedTempFile>, HarnessError> {
    let Some((name, bytes)) = files.first() else { return Ok(None) };
    let kept = tempfile::NamedTempFile::new().and_then(|mut file| file.write_all(bytes).map(|()| file));
    let kept = kept.map_err(|why| {
        let why = anyhow!(why).context("keep the authorities that were sent");
        not_sent(plan, "target.tls.authorities", format!("{why:#}"))
    })?;
    plan.target.tls.authorities = Some(kept.path().to_owned());
    // Its path is the name in the target's certificate, where that is not the one in the URL.
    if let Some(name) = name.to_str().filter(|name| !name.is_empty()) {
        plan.target.tls.server_name = Some(name.to_owned());
    }
    Ok(Some(kept))
}

fn not_sent(plan: &Plan, key: &str, value: String) -> HarnessError {
    HarnessError::Refused(Refused(vec![Refusal {
        place: plan.place(key).to_owned(),
        key: key.to_owned(),
        value,
        allowed: "a file that the harness sends to its drivers".to_owned(),
        remedy: "name it in the plan; a scenario that is in no file can only be driven by one driver"
            .to_owned(),
    }]))
}
