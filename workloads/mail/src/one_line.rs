//! `barograph mail`: a mail server under load in one line, for users of smtp-source, postal or imaptest.

use barograph_workload::typed::TypedRule;
use barograph_workload::{CommandError, LoadCommand, LoadOptions, Noun, TypedLoad, UsualUsers};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::address::MailAddress;
use crate::seam::Mail;

/// Users without `-c`.
const USERS: UsualUsers = UsualUsers { fixed: 20, searched: 1_000, in_flight: 1_000 };

/// Loads a mail server: fills mailboxes, lets users send, read and file mail, and reads all mail after it. Without options:
/// 20 users, each doing a working day in 8 min, for 10 s.
#[derive(Args)]
struct MailArgs {
    /// Where mail is submitted: smtp://HOST:PORT, smtps:// for TLS, lmtp:// for deliveries; with USER:PASSWORD@ to log in, and
    /// ?starttls=yes, verify=no or ca=FILE
    address: String,
    /// Where mailboxes are: imap://HOST:PORT, or imaps:// for TLS, with the same options
    #[arg(long, value_name = "URL")]
    imap: String,
    /// Accounts, with {n} for their numbers from 0
    #[arg(long, default_value = "u{n}@barograph.test", value_name = "ADDRESS")]
    user: String,
    /// Password of the accounts
    #[arg(long, default_value = "barograph")]
    password: String,
    /// Mailboxes, at least one for each user [default: one for each user]
    #[arg(long, value_name = "N")]
    mailboxes: Option<u32>,
    /// Mails of each mailbox before the load
    #[arg(long, default_value_t = 50, value_name = "N")]
    messages: u32,
    /// Factor on the sizes of mail, 84 KB in the mean
    #[arg(long, default_value_t = 0.1, value_name = "FACTOR")]
    size: f64,
    /// Factor on the rates of a user, 0.013 operations/s
    #[arg(long, default_value_t = 60.0, value_name = "FACTOR")]
    compression: f64,
    /// A further key of the plan, as in mail.recipients=2 (may be given often)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
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
        let url = format!("{},{}", args.address, args.imap);
        let address = MailAddress::parse(&url)
            .map_err(|why| CommandError::refused(format!("read the addresses `{url}`: {why}")))?;
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

/// The arguments as keys of a plan.
fn keys(args: &MailArgs, users: u32, options: &LoadOptions) -> Vec<String> {
    let mailboxes = args.mailboxes.unwrap_or(users);
    let mut keys = vec![
        format!("mail.mailboxes = {mailboxes}"),
        format!("mail.messages = {}", args.messages),
        format!("mail.size = {:?}", args.size),
        format!("mail.compression = {:?}", args.compression),
        format!("mail.user = {:?}", args.user),
        format!("mail.password = {:?}", args.password),
        format!("mail.failures = {:?}", options.errors.get()),
        format!("mail.recipients = {}", mailboxes.min(4)),
    ];
    if let Some(limit) = options.limit() {
        keys.push(format!("mail.limit_ms = {:?}", limit.limit.as_secs_f64() * 1e3));
        keys.push(format!("mail.quantile = {:?}", limit.quantile.get()));
    }
    keys.extend(args.sets.iter().cloned());
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
                     --size 0.5 --compression 5 --set mail.idle=0.5";
        let load = typed(&Mail, words, &options).unwrap();
        assert_eq!(load.title, "mail on lmtps://h:24,imaps://h:993", "a password is not shown");
        let own = MailPlan::of(&plan(&Mail, &load).unwrap()).clone();
        assert_eq!((own.mailboxes, own.messages, own.recipients), (3, 7, 3));
        assert_eq!((own.size, own.compression, own.idle), (0.5, 5.0, 0.5));
        assert_eq!((own.user.as_str(), own.password.as_str(), own.domain()), ("a{n}@x.test", "q", "x.test"));
        assert_eq!((own.limit, own.quantile), (Some(Nanos(1_500_000)), Share::percent(90.0)));
    }

    #[test]
    fn impossible_arguments_have_reasons() {
        let why = |words: &str, options: &LoadOptions| typed(&Mail, words, options).err().unwrap();
        assert!(why("smtp://h", &LoadOptions::default()).contains("--imap"));
        assert!(why("http://h --imap imap://h", &LoadOptions::default()).contains("unknown scheme `http`"));
        let thinking = LoadOptions { think: Some(Nanos(1)), ..LoadOptions::default() };
        assert!(why("smtp://h --imap imap://h", &thinking).contains("--compression"));
    }
}
