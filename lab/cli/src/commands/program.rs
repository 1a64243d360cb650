//! `barograph serve`, `fill` and `load`: programs that workloads bring along.

use barograph_platform::Later;
use barograph_record::ExitCode;
use barograph_workload::{Outside, Supervision};

use super::Done;
use crate::args::TypedProgram;
use crate::{machine, terminal};

/// Runs one to its end.
pub(crate) fn run(typed: &TypedProgram) -> Done {
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

/// Calls `then` when standard input ends, which it does when whoever supervises this process is gone.
pub(crate) fn when_input_ends(then: Box<dyn FnOnce() + Send>) {
    std::thread::spawn(move || {
        // What comes is of no interest, only that nothing comes any more.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        then();
    });
}

/// Ctrl-C, a polite kill or, where it is supervised, the end of standard input.
fn told_to_end(by: Supervision) -> Later<'static, ()> {
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

/// Ctrl-C or a polite kill.
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
