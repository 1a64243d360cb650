//! `barograph mail`: a mail server under load in one line, for users of smtp-source, postal or imaptest.

use std::fmt::Display;

use barograph_lines::Address;
use barograph_workload::typed::TypedRule;
use barograph_workload::{CommandError, LoadCommand, LoadOptions, Noun, TypedLoad, UsualUsers};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::address::MailAddress;
use crate::plan::check_user;
use crate::seam::{Mail, READ, SUBMIT};

/// Users without `-c`.
const USERS: UsualUsers = UsualUsers { fixed: 20, searched: 1_000, in_flight: 1_000 };

/// Factor on the sizes of mail without `--size`.
const USUAL_SIZE: f64 = 0.1;

/// Loads a mail server: fills mailboxes, lets users send, read and file mail, and reads all mail after it. Without options:
/// 20 users, each doing a working day in 8 min, for 10 s. Without --imap, users submit one mail after another to one
/// recipient, and no mail is read or checked.
#[derive(Args)]
struct MailArgs {
    /// Where mail is submitted: smtp://HOST:PORT, smtps:// for TLS, lmtp:// for deliveries; with USER:PASSWORD@ to log in, and
    /// ?starttls=yes, verify=no or ca=FILE
    address: String,
    /// Where mailboxes are: imap://HOST:PORT, or imaps:// for TLS, with the same options
    #[arg(long, value_name = "URL")]
    imap: Option<String>,
    /// Accounts, numbered from 0 where the default has its braces; without --imap also one address for all mail
    #[arg(long, default_value = "u{n}@barograph.test", value_name = "ADDRESS")]
    user: String,
    /// Password of the accounts
    #[arg(long, default_value = "barograph")]
    password: String,
    /// Mailboxes, at least one for each user [default: one for each user]
    #[arg(long, value_name = "N")]
    mailboxes: Option<u32>,
    /// Mails of each mailbox before the load
    #[arg(long, default_value_t = 50, value_name = "N", requires = "imap")]
    messages: u32,
    /// Factor on the sizes of mail, 84 KB in the mean [default: 0.1]
    #[arg(long, value_name = "FACTOR", conflicts_with = "bytes")]
    size: Option<f64>,
    /// One size of all mail, in bytes
    #[arg(long, value_name = "N")]
    bytes: Option<u32>,
    /// Submit the mail of a user over one connection, and not each over a new one
    #[arg(long)]
    keep_session: bool,
    /// Read one mail of INBOX after another, and do nothing else
    #[arg(long, requires = "imap", conflicts_with_all = ["compression", "keep_session"])]
    read: bool,
    /// Factor on the rates of a user, 0.013 operations/s
    #[arg(long, default_value_t = 60.0, value_name = "FACTOR", requires = "imap")]
    compression: f64,
}

impl LoadCommand for Mail {
    fn arguments(&self) -> Command {
        MailArgs::augment_args(Command::new("mail"))
    }

    fn request(&self) -> Noun {
        Noun { one: "operation", several: "operations" }
    }

    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError> {
        let args = MailArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        if !matches!(options.rules.as_slice(), [] | [TypedRule::Response(_)]) {
            return Err(CommandError::refused("judge operations by more than one limit of response time"));
        }
        if options.think.is_some() {
            let why = "set another think time; the pace of users is --compression";
            return Err(CommandError::refused(why));
        }
        let (url, address) = addresses(&args)?;
        check_user(&args.user, args.imap.is_some()).map_err(|allowed| {
            CommandError::refused(format!("read --user `{}`: {allowed} is allowed", args.user))
        })?;
        let users = options.users_or(USERS);
        Ok(TypedLoad {
            title: format!("mail on {}", address.shown()),
            url,
            users,
            keys: keys(&args, users, options),
            workload: None,
        })
    }
}

/// The addresses in one, as plans have them, and read.
fn addresses(args: &MailArgs) -> Result<(String, MailAddress), CommandError> {
    let refused = |what: &str, text: &str, why: &dyn Display| {
        CommandError::refused(format!("read the address {what}`{text}`: {why}"))
    };
    let submission = &args.address;
    let alone = MailAddress::parse(submission).map_err(|why| refused("", submission, &why))?;
    let Some(imap) = &args.imap else { return Ok((submission.clone(), alone)) };
    Address::parse(imap, barograph_imap::SCHEME).map_err(|why| refused("--imap ", imap, &why))?;
    let url = format!("{submission},{imap}");
    let both = MailAddress::parse(&url).map_err(|why| refused("", &url, &why))?;
    Ok((url, both))
}

/// The arguments as keys of a plan.
fn keys(args: &MailArgs, users: u32, options: &LoadOptions) -> Vec<String> {
    let mailboxes = args.mailboxes.unwrap_or(users);
    let mut keys = vec![
        format!("mail.mailboxes = {mailboxes}"),
        format!("mail.keep_session = {}", args.keep_session),
        format!("mail.user = {:?}", args.user),
        format!("mail.password = {:?}", args.password),
        format!("mail.failures = {:?}", options.errors.get()),
    ];
    keys.push(match (args.bytes, args.size) {
        (Some(bytes), _) => format!("mail.bytes = {bytes}"),
        (None, size) => format!("mail.size = {:?}", size.unwrap_or(USUAL_SIZE)),
    });
    match args.imap {
        Some(_) => keys.extend([
            format!("mail.messages = {}", args.messages),
            if args.read {
                format!("profile = {READ:?}")
            } else {
                format!("mail.compression = {:?}", args.compression)
            },
            format!("mail.recipients = {}", mailboxes.min(4)),
        ]),
        None => keys.extend([format!("profile = {SUBMIT:?}"), "mail.recipients = 1".to_owned()]),
    }
    if let Some(limit) = options.limit() {
        keys.push(format!("mail.limit_ms = {:?}", limit.limit.as_secs_f64() * 1e3));
        keys.push(format!("mail.quantile = {:?}", limit.quantile.get()));
    }
    keys
}

#[cfg(test)]
mod tests {
    use barograph_model::{Nanos, Share};
    use barograph_workload::testing::{plan, typed};
    use barograph_workload::typed::Limit;

    use super::*;
    use crate::plan::MailPlan;

    #[test]
    fn two_addresses_are_twenty_users_with_a_mailbox_each() {
        let load = typed(&Mail, "smtp://h:25 --imap imap://h", &LoadOptions::default()).unwrap();
        assert_eq!((load.title.as_str(), load.users), ("mail on smtp://h:25,imap://h:143", 20));
        let own = MailPlan::of(&plan(&Mail, &load).unwrap()).clone();
        assert_eq!((own.mailboxes, own.messages, own.recipients, own.limit), (20, 50, 4, None));
    }

    #[test]
    fn options_reach_the_plan() {
        let limit = Limit { quantile: Share::percent(90.0), percent: 90.0, limit: Nanos(1_500_000) };
        let options =
            LoadOptions { users: Some(2), rules: vec![TypedRule::Response(limit)], ..LoadOptions::default() };
        let words = "lmtps://u:p@h --imap imaps://h?verify=no --user a{n}@x.test --password q --mailboxes 3 --messages 7 \
                     --size 0.5 --compression 5";
        let load = typed(&Mail, words, &options).unwrap();
        assert_eq!(load.title, "mail on lmtps://h:24,imaps://h:993", "a password is not shown");
        let own = MailPlan::of(&plan(&Mail, &load).unwrap()).clone();
        assert_eq!((own.mailboxes, own.messages, own.recipients), (3, 7, 3));
        assert_eq!((own.size, own.compression), (0.5, 5.0));
        assert_eq!((own.user.as_str(), own.password.as_str(), own.domain()), ("a{n}@x.test", "q", "x.test"));
        assert_eq!((own.limit, own.quantile), (Some(Nanos(1_500_000)), Share::percent(90.0)));
    }

    #[test]
    fn one_address_is_a_load_of_submissions() {
        let options = LoadOptions { users: Some(16), ..LoadOptions::default() };
        let words = "smtp://h:25 --bytes 4096 --keep-session --user u@x.test";
        let load = typed(&Mail, words, &options).unwrap();
        assert_eq!(load.title, "mail on smtp://h:25");
        let plan = plan(&Mail, &load).unwrap();
        let own = MailPlan::of(&plan);
        assert_eq!((plan.profile.as_str(), own.recipients, own.mailboxes), ("submit", 1, 16));
        assert_eq!((own.bytes, own.keeps_session), (Some(4_096), true));
    }

    #[test]
    fn reading_is_a_profile() {
        let load = typed(&Mail, "smtp://h:25 --imap imap://h --read", &LoadOptions::default()).unwrap();
        assert_eq!(plan(&Mail, &load).unwrap().profile, READ);
    }

    #[test]
    fn impossible_arguments_have_reasons() {
        let why = |words: &str, options: &LoadOptions| typed(&Mail, words, options).err().unwrap();
        assert!(why("smtp://h --messages 5", &LoadOptions::default()).contains("--imap"));
        assert!(why("smtp://h --size 1 --bytes 5", &LoadOptions::default()).contains("--bytes"));
        let usual = LoadOptions::default();
        assert!(
            why("http://h --imap imap://h", &usual)
                .starts_with("read the address `http://h`: unknown scheme `http`")
        );
        let expected =
            "read the address --imap `smtp://h`: unknown scheme `smtp`; imap and imaps (TLS) are known";
        assert_eq!(why("smtp://h --imap smtp://h", &usual), expected);
        let expected = "read --user `u@h`: an address with {n} for the number of the mailbox, as in u{n}@example.test is allowed";
        assert_eq!(why("smtp://h --imap imap://h --user u@h", &usual), expected);
        assert!(why("smtp://h --user u", &usual).starts_with("read --user `u`: an address as in user@"));
        let thinking = LoadOptions { think: Some(Nanos(1)), ..LoadOptions::default() };
        assert!(why("smtp://h --imap imap://h", &thinking).contains("--compression"));
    }
}
