//! `barograph serve mail`: the embedded server as a program of its own.

use std::net::SocketAddr;
use std::path::PathBuf;

use barograph_mail::{Durability, MailServer, ServerOptions};
use barograph_record::ExitCode;
use barograph_workload::{CommandError, Outside, Program, Supervision};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use serde_json::json;

use crate::seam::Mail;

/// Open files beside its connections.
const OTHER_FILES: u64 = 64;

/// Serves mail by SMTP, LMTP and IMAP from a folder.
#[derive(Args)]
struct ServeArgs {
    /// Address for SMTP and LMTP; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:2525")]
    listen: SocketAddr,
    /// Address for IMAP; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:1143")]
    listen_imap: SocketAddr,
    /// Folder of the mail, made if there is none
    #[arg(long, value_name = "FOLDER")]
    folder: PathBuf,
    /// What a mail survives when it is answered
    #[arg(long, value_enum, default_value_t = DurabilityArg::Full, value_name = "HOW")]
    durability: DurabilityArg,
    /// Domain of the accounts
    #[arg(long, default_value = "barograph.test")]
    domain: String,
    /// Password of every account
    #[arg(long, default_value = "barograph")]
    password: String,
    /// Stop when standard input ends: how a harness takes its server along
    #[arg(long)]
    supervised: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DurabilityArg {
    /// A failed machine
    Full,
    /// A killed server
    System,
    /// Nothing
    Memory,
}

impl From<DurabilityArg> for Durability {
    fn from(durability: DurabilityArg) -> Self {
        match durability {
            DurabilityArg::Full => Durability::Full,
            DurabilityArg::System => Durability::System,
            DurabilityArg::Memory => Durability::Memory,
        }
    }
}

impl Program for Mail {
    fn arguments(&self, command: Command) -> Command {
        ServeArgs::augment_args(command)
    }

    fn run(&self, typed: &ArgMatches, outside: &Outside) -> Result<(), CommandError> {
        let args = ServeArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        std::fs::create_dir_all(&args.folder).map_err(|why| {
            CommandError::refused(why).while_doing(format!("make the folder `{}`", args.folder.display()))
        })?;
        let open_files = (outside.raise_open_files)();
        let options = ServerOptions {
            smtp: args.listen,
            imap: args.listen_imap,
            folder: args.folder,
            durability: args.durability.into(),
            domain: args.domain,
            password: args.password,
            max_connections: open_files.saturating_sub(OTHER_FILES).max(1) as usize,
        };
        let supervision = if args.supervised { Supervision::SignalsAndInput } else { Supervision::Signals };
        let fault = |why: std::io::Error| CommandError::new(ExitCode::PlatformFault, why);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|why| fault(why).while_doing("start a runtime"))?;
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let server = MailServer::bind(&options).await.map_err(CommandError::refused)?;
            let addresses = server.addresses().map_err(fault)?;
            let ready = json!({
                "ready": true,
                "address": addresses.smtp.to_string(),
                "imap": addresses.imap.to_string(),
            });
            (outside.result)(&ready.to_string());
            tokio::select! {
                () = server.serve() => {}
                () = (outside.told_to_end)(supervision) => {}
            }
            Ok(())
        })
    }
}
