//! `barograph serve social`: the site, or its geocoder, as a program of its own.

use std::net::SocketAddr;
use std::path::PathBuf;

use barograph_record::ExitCode;
use barograph_social::{FilePlace, FillOrder, Site, SiteOptions, fill, serve, serve_geocoder};
use barograph_workload::{CommandError, Outside, Program, Supervision};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use serde_json::json;
use tokio::net::TcpListener;

use crate::seam::Social;

/// Serves a social site of events from a folder, or the geocoder that it asks.
#[derive(Args)]
struct ServeArgs {
    /// Address to listen at; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// What is served
    #[arg(long, value_enum, default_value_t = PartArg::Site, value_name = "PART")]
    part: PartArg,
    /// Folder of the site, made if there is none
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Folder, file:// URL, or s3://[KEY:SECRET@]BUCKET[/PREFIX][?endpoint=http://HOST:PORT&region=NAME] of pictures and
    /// documents, where nodes share them; without it they are in the folder of the site
    #[arg(long, value_name = "PLACE")]
    files: Option<String>,
    /// Database for the rows, postgres://... or mysql://...; without it a SQLite file in the folder of the site
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Sessions at the database
    #[arg(long, default_value_t = 16, value_name = "NUMBER", requires = "database")]
    sessions: usize,
    /// Cache of rows, memcached://HOST:PORT or redis://HOST:PORT
    #[arg(long, value_name = "URL")]
    cache: Option<String>,
    /// Fill the site with data for this number of users before it serves; one with these data returns to their state
    #[arg(long, value_name = "USERS", value_parser = clap::value_parser!(u32).range(1..))]
    fill: Option<u32>,
    /// Geocoder that the site asks; without it the site finds places itself
    #[arg(long, value_name = "HOST:PORT")]
    geocoder: Option<String>,
    /// Threads; 0 takes one for each core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Stop when standard input ends: how a harness takes its server along
    #[arg(long)]
    supervised: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PartArg {
    /// The pages
    Site,
    /// Places of addresses
    Geocoder,
}

impl Program for Social {
    fn arguments(&self, command: Command) -> Command {
        ServeArgs::augment_args(command)
    }

    fn run(&self, typed: &ArgMatches, outside: &Outside) -> Result<(), CommandError> {
        let args = ServeArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        (outside.raise_open_files)();
        let threads = if args.threads == 0 { outside.cores } else { args.threads };
        let site = match args.part {
            PartArg::Geocoder => None,
            PartArg::Site => Some(Site::open(&options(&args, threads)?).map_err(CommandError::refused)?),
        };
        let fault = |why: std::io::Error| CommandError::new(ExitCode::PlatformFault, why);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build()
            .map_err(|why| fault(why).while_doing("start a runtime"))?;
        let supervision = if args.supervised { Supervision::SignalsAndInput } else { Supervision::Signals };
        runtime.block_on(async {
            if let Some(site) = &site {
                site.check_files().await.map_err(CommandError::refused)?;
            }
            if let (Some(site), Some(users)) = (&site, args.fill) {
                let order = FillOrder { users, people_each: 100, seed: 1, file_scale: 0.02 };
                fill(site, &order).await.map_err(CommandError::refused)?;
            }
            let listener = TcpListener::bind(args.listen).await.map_err(|why| {
                let what = format!("listen at {}: choose a free port with --listen, or port 0", args.listen);
                CommandError::refused(why).while_doing(what)
            })?;
            let address = listener.local_addr().map_err(fault)?;
            (outside.result)(&json!({ "ready": true, "address": address.to_string() }).to_string());
            let end = (outside.told_to_end)(supervision);
            match site {
                Some(site) => serve(listener, site, end).await,
                None => serve_geocoder(listener, end).await,
            }
            .map_err(fault)
        })
    }
}

/// The settings of the site.
fn options(args: &ServeArgs, threads: usize) -> Result<SiteOptions, CommandError> {
    let Some(folder) = args.folder.clone() else {
        return Err(CommandError::refused("serve a site without --folder, where its files are"));
    };
    Ok(SiteOptions {
        folder,
        files: args.files.as_deref().map(FilePlace::of),
        database: args.database.clone(),
        cache: args.cache.clone(),
        geocoder: args.geocoder.clone(),
        sessions: if args.database.is_some() { args.sessions } else { threads },
    })
}
