//! `barograph serve`, `fill` and `load`: programs of workloads.

use barograph_platform::BoxFuture;
use barograph_record::ExitCode;
use barograph_workload::{Outside, Supervision};

use super::CommandResult;
use crate::args::TypedProgram;
use crate::{machine, terminal};

/// Runs a program to its end.
pub(crate) fn run(typed: &TypedProgram) -> CommandResult {
    let outside = Outside {
        result: terminal::result,
        say: terminal::say,
        when_input_ends,
        told_to_end,
        raise_open_files: machine::raise_open_files,
        cores: machine::cores(),
    };
    typed.program.run(&typed.typed, &outside)?;
    Ok(ExitCode::Fine)
}

/// Calls `then` when standard input ends, which happens when the supervising process is gone.
pub(crate) fn when_input_ends(then: Box<dyn FnOnce() + Send>) {
    std::thread::spawn(move || {
        // Input is ignored; only its end matters.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        then();
    });
}

/// Waits for Ctrl-C, SIGTERM or, if supervised, the end of standard input.
fn told_to_end(by: Supervision) -> BoxFuture<'static, ()> {
    let (told, tell) = tokio::sync::oneshot::channel::<()>();
    let supervised = by == Supervision::SignalsAndInput;
    if supervised {
        when_input_ends(Box::new(move || drop(told)));
    }
    Box::pin(async move {
        tokio::select! {
            // Ends when the sender is dropped.
            _ = tell, if supervised => {}
            () = signalled() => {}
        }
    })
}

/// Waits for Ctrl-C or SIGTERM.
async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
