//! The program: arguments, terminal, exit codes, and the list of workloads and platforms.

mod args;
mod catalog;
mod commands;
mod disclosure;
mod live;
mod machine;
mod shipped;
mod terminal;
mod watch;
mod words;

use std::process::ExitCode;

use anyhow::Context;
use barograph_record::ExitCode as Code;

use clap::Parser;

use args::{Args, Command};
use commands::{CommandFailure, CommandResult};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match args.command {
        Command::Run(a) => commands::run::run(&a),
        Command::Check(a) => commands::check::check(&a),
        Command::Study(a) => commands::study::study(&a),
        Command::OneLine(a) => commands::load_command::run(&a),
        Command::Control(a) => commands::control::control(&a),
        Command::New(a) => commands::new::new(&a),
        Command::List(a) => commands::list::list(&a),
        Command::Show(a) => commands::show::show(&a),
        Command::Report(a) => commands::show::report(&a),
        Command::Compare(a) => commands::compare::compare(&a),
        Command::Demand(a) => commands::demand::demand(&a),
        Command::Images(a) => commands::images::images(&a),
        Command::Export(a) => commands::export::export(&a),
        Command::Share(a) => commands::share::share(&a),
        Command::Clean(a) => commands::clean::clean(&a),
        Command::Program(a) => commands::program::run(&a),
        Command::Completions(a) => commands::install::completions(&a),
        Command::Manual(a) => commands::install::manual(&a),
        Command::Drive(a) => commands::drive::drive(&a),
        Command::Relay(a) => commands::inner::relay(a),
        Command::Supervise(a) => commands::inner::supervise(&a),
        Command::Agent(a) => commands::inner::agent(&a),
    };
    match done.and_then(written) {
        Ok(code) => ExitCode::from(code.code()),
        Err(failed) => {
            terminal::complain(&failed.why);
            ExitCode::from(failed.code.code())
        }
    }
}

/// Exit code of a command, unless its results could not be written.
fn written(code: Code) -> CommandResult {
    match terminal::unwritten() {
        None => Ok(code),
        Some(why) => Err(why)
            .context("write to standard output")
            .map_err(|why| CommandFailure::new(Code::CannotWrite, why)),
    }
}
