//! The keys of the workload in plans: `[mail]`, and the server that is deployed.

use std::sync::Arc;

use barograph_model::words::count;
use barograph_model::{Distribution, MeasureSpec, Nanos, Pace, Share};
use barograph_spec::{Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::address::MailAddress;
use crate::measures::MEASURES;
use crate::operation::{DAY_S, TASKS};
use crate::seam::{Mail, NAME, READ, SUBMIT};
use crate::topology::{AGENT, SERVERS, TIER};

/// Most mailboxes: their numbers have 20 bits in the ids of mail.
const MOST_MAILBOXES: u64 = 1 << 20;

/// Most mails of a mailbox before the load.
const MOST_MESSAGES: u64 = 100_000;

/// Most bytes of a mail.
const MOST_BYTES: u64 = 64 << 20;

/// The longest pause of a user, in multiples of the mean.
const LONGEST_PAUSE: f64 = 10.0;

/// The mark of the mailbox's number in names of accounts.
const NUMBER: &str = "{n}";

/// Durability of the deployed server.
pub(crate) const DURABILITIES: [&str; 3] = ["full", "system", "memory"];

/// Settings of the workload in a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MailPlan {
    /// Mailboxes of the server.
    pub(crate) mailboxes: u32,
    /// Mails of each before the load.
    pub(crate) messages: u32,
    /// Factor on the sizes of mail.
    pub(crate) size: f64,
    /// One size of all mail, in bytes; `None` takes the sizes of an office.
    pub(crate) bytes: Option<usize>,
    /// Factor on the rates of a heavy user.
    pub(crate) compression: f64,
    /// The part of the users that hold IDLE.
    pub(crate) idle: f64,
    /// Recipients of a submitted mail.
    pub(crate) recipients: u32,
    /// Whether a user submits its mail over one connection, and not each over a new one.
    pub(crate) keeps_session: bool,
    /// Address of an account, with `{n}` for its number; one address for all if no mail is read.
    pub(crate) user: String,
    /// Password of every account.
    pub(crate) password: String,
    /// The judged quantile of response times.
    pub(crate) quantile: Share,
    /// One limit for all operations in the place of their own.
    pub(crate) limit: Option<Nanos>,
    /// Largest share of failed operations.
    pub(crate) failures: Share,
    /// Seconds after the load in which a mail may still be delivered; then it is lost.
    pub(crate) delivery_s: u32,
    /// Whether mail that is there more often than delivered is counted, and no fault.
    pub(crate) may_double: bool,
    /// The server that is deployed.
    pub(crate) server: &'static str,
    /// What its mail survives.
    pub(crate) durability: &'static str,
}

impl MailPlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.settings().expect("a plan of this workload is read with its keys")
    }

    /// The domain of the accounts.
    pub(crate) fn domain(&self) -> &str {
        self.user.rsplit_once('@').map_or("", |(_, domain)| domain)
    }

    /// Mail that is never read may all go to one account; mailboxes have one each.
    fn check_user(&self, plan: &Plan, g: &mut SettingsReader) {
        let target = plan.target.url.as_deref().and_then(|url| MailAddress::parse(url).ok());
        let has_mailboxes = target.is_none_or(|address| address.mailboxes.is_some());
        if let Err(allowed) = check_user(&self.user, has_mailboxes) {
            g.refuse("mail.user", format!("{:?}", self.user), allowed, "correct it");
        }
    }

    /// What the mailboxes have before the load.
    fn explain_data(&self) -> String {
        let sizes = match self.bytes {
            Some(bytes) => format!("{} bytes each", count(bytes as u64)),
            None => format!("sizes {} of the published", self.size),
        };
        let (mailboxes, messages) = (count(self.mailboxes.into()), count(self.messages.into()));
        format!("data      {mailboxes} mailboxes of {messages} mails in 12 folders, {sizes}")
    }

    fn explain_target(&self, plan: &Plan) -> String {
        match (&plan.target.url, self.server) {
            (Some(url), _) => MailAddress::parse(url).map_or_else(|why| why, |address| address.shown()),
            (None, "embedded") => format!("the embedded server, durability {}", self.durability),
            (None, "dovecot") => format!("Dovecot, which takes mail by LMTP, durability {}", self.durability),
            (None, "maddy") => format!("maddy, which takes mail by SMTP, durability {}", self.durability),
            (None, _) => format!("Postfix before Dovecot, durability of Dovecot {}", self.durability),
        }
    }

    fn explain_submissions(&self, plan: &Plan, target: &str) -> Vec<String> {
        let sizes = match self.bytes {
            Some(bytes) => format!("of {} bytes", count(bytes as u64)),
            None => format!("of {} of the published sizes", self.size),
        };
        let over = if self.keeps_session { "one connection" } else { "a new connection each" };
        let recipients = if self.recipients == 1 { "recipient" } else { "recipients" };
        let users = format!("users     submit mail {sizes} to {} {recipients}, over {over}", self.recipients);
        if reads_no_mail(plan) {
            return vec![users, format!("target    {target}; no mail is read, so none is checked")];
        }
        let target = format!("target    {target}; all mail is read and compared after the load");
        vec![self.explain_data(), users, target]
    }

    /// The pace of a heavy user, compressed.
    pub(crate) fn pace(&self) -> Pace {
        let mean = DAY_S / f64::from(TASKS) / self.compression;
        let max = Nanos::from_secs_f64(mean * LONGEST_PAUSE);
        Pace::Cycle(Distribution::Exponential { mean: Nanos::from_secs_f64(mean), max })
    }
}

/// Checks the address of accounts, or of all mail if no mailbox is read.
///
/// # Errors
/// The allowed form.
pub(crate) fn check_user(user: &str, has_mailboxes: bool) -> Result<(), &'static str> {
    let (name, domain) = user.rsplit_once('@').unwrap_or_default();
    let is_account = domain.contains(char::is_alphanumeric) && !domain.contains(NUMBER);
    match (is_account, has_mailboxes) {
        (true, _) if !has_mailboxes || name.contains(NUMBER) => Ok(()),
        (_, true) => Err("an address with {n} for the number of the mailbox, as in u{n}@example.test"),
        (_, false) => {
            Err("an address as in user@example.test, with or without {n} for a number before the @")
        }
    }
}

/// Whether a plan names no address at which mail can be read.
fn reads_no_mail(plan: &Plan) -> bool {
    let url = plan.target.url.as_deref();
    url.and_then(|url| MailAddress::parse(url).ok()).is_some_and(|address| address.mailboxes.is_none())
}

impl WorkloadKeys for Mail {
    fn name(&self) -> &'static str {
        NAME
    }

    fn tiers(&self) -> &'static [&'static str] {
        &[TIER, AGENT]
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let mailboxes = g.number("mail.mailboxes", 1..=MOST_MAILBOXES, 100);
        let messages = g.number("mail.messages", 0..=MOST_MESSAGES, 100);
        let size = g.fraction("mail.size", 0.001..=10.0, 1.0);
        let bytes = g.number("mail.bytes", 0..=MOST_BYTES, 0);
        let compression = g.fraction("mail.compression", 0.1..=100_000.0, 1.0);
        let idle = g.fraction("mail.idle", 0.0..=1.0, 0.8);
        let recipients = g.number("mail.recipients", 1..=100, 4);
        let keeps_session = g.flag("mail.keep_session", false);
        let user = g.word("mail.user", &[], "u{n}@barograph.test");
        let password = g.word("mail.password", &[], "barograph");
        let quantile = g.fraction("mail.quantile", 0.5..=0.999_99, 0.95);
        let limit_ms = g.fraction("mail.limit_ms", 0.0..=3_600_000.0, 0.0);
        let failures = g.fraction("mail.failures", 0.0..=1.0, 0.001);
        let delivery_s = g.number("mail.delivery_s", 0..=3_600, 30);
        let doubled = g.choice("mail.doubled", &["refused", "counted"], "refused");
        let server = g.choice("deploy.server", &SERVERS, "embedded");
        let durability = g.choice("mail.durability", &DURABILITIES, "full");
        Some(Arc::new(MailPlan {
            mailboxes: mailboxes? as u32,
            messages: messages? as u32,
            size: size?,
            bytes: Some(bytes? as usize).filter(|bytes| *bytes > 0),
            compression: compression?,
            idle: idle?,
            recipients: recipients? as u32,
            keeps_session: keeps_session?,
            user: user?,
            password: password?,
            quantile: Share::new(quantile?).ok()?,
            limit: Some(Nanos::from_secs_f64(limit_ms? / 1e3)).filter(|limit| *limit > Nanos::ZERO),
            failures: Share::new(failures?).ok()?,
            delivery_s: delivery_s? as u32,
            may_double: doubled? == "counted",
            server: server?,
            durability: durability?,
        }))
    }
}

impl WorkloadSettings for MailPlan {
    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        self.check_user(plan, g);
        if [SUBMIT, READ].contains(&plan.profile.as_str()) {
            for key in ["mail.compression", "mail.idle"] {
                let allowed =
                    format!("left out with profile = {:?}, whose users do nothing else", plan.profile);
                g.refuse_asked(key, &allowed, "leave it out, or choose the profile mail");
            }
        }
        if self.bytes.is_some() {
            let allowed = "left out with mail.bytes, which gives all mail one size";
            g.refuse_asked("mail.size", allowed, "leave one of them out");
        }
        if self.recipients > self.mailboxes {
            let allowed = format!("at most the {} of mail.mailboxes", self.mailboxes);
            g.refuse("mail.recipients", self.recipients, &allowed, "lower it, or raise mail.mailboxes");
        }
        if plan.most_users() > self.mailboxes {
            let allowed = format!("at least the {} users of the load", plan.most_users());
            g.refuse(
                "mail.mailboxes",
                self.mailboxes,
                &allowed,
                "raise it: each user has a mailbox of its own",
            );
        }
        let url = plan.target.url.as_deref().filter(|url| !url.starts_with("load:"));
        if let Some(url) = url {
            let address = MailAddress::parse(url);
            let is_half = address.as_ref().is_ok_and(|address| address.mailboxes.is_none());
            let missing = (is_half && plan.profile != SUBMIT)
                .then(|| "the address for IMAP is missing after a comma".to_owned());
            if let Some(why) = address.err().or(missing) {
                let allowed = format!("addresses as in smtp://mail.test:587,imaps://mail.test ({why})");
                let advice = "correct it, or send mail alone by profile = \"submit\"";
                g.refuse("target.url", format!("{url:?}"), &allowed, advice);
            }
            for key in ["deploy.server", "mail.durability"] {
                let allowed = "left out with target.url, where the server is there already";
                g.refuse_asked(key, allowed, "leave it out, or leave target.url out");
            }
            let allowed = "left out where no server is deployed";
            for tier in [TIER, AGENT] {
                g.refuse_limits(tier, allowed, "leave it out, or leave target.url out");
            }
            return;
        }
        if self.server != "embedded" && self.durability == "memory" {
            let allowed = format!("\"full\" or \"system\" with deploy.server = {:?}", self.server);
            g.refuse_asked("mail.durability", &allowed, "choose one of them, or the embedded server");
        }
        if self.server != "postfix" {
            let allowed = "left out without deploy.server = \"postfix\"";
            g.refuse_limits(AGENT, allowed, "leave it out, or deploy Postfix");
        }
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        let target = self.explain_target(plan);
        if plan.profile == SUBMIT {
            return self.explain_submissions(plan, &target);
        }
        if plan.profile == READ {
            let users = "users     open their mailboxes, and read one mail of INBOX after another".to_owned();
            let target = format!("target    {target}; all mail is read and compared after the load");
            return vec![self.explain_data(), users, target];
        }
        let per_second = f64::from(TASKS) / DAY_S * self.compression;
        vec![
            self.explain_data(),
            format!(
                "users     heavy users, {per_second:.3} operations/s each ({} times a working day's), {} % hold IDLE",
                self.compression,
                (self.idle * 100.0).round()
            ),
            format!("target    {target}; all mail is read and compared after the load"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::words::in_one_line;
    use barograph_spec::{Catalogue, Refusals};

    use super::*;

    fn plan(sets: &[&str]) -> Result<Plan, Refusals> {
        let users = ["load.strategy=fixed", "load.users=20"];
        let sets: Vec<String> = users.iter().chain(sets).map(|set| (*set).to_owned()).collect();
        barograph_spec::read(Catalogue::of(&[&Mail]), "a plan", "workload = \"mail\"\n", &sets)
    }

    #[test]
    fn a_plan_says_what_will_happen() {
        let usual = plan(&[]).unwrap();
        assert_eq!(
            MailPlan::of(&usual).explain(&usual),
            [
                "data      100 mailboxes of 100 mails in 12 folders, sizes 1 of the published",
                "users     heavy users, 0.013 operations/s each (1 times a working day's), 80 % hold IDLE",
                "target    the embedded server, durability full; all mail is read and compared after the load",
            ]
        );
        let submissions =
            plan(&["profile=submit", "target.url=smtp://h:25", "mail.bytes=4096", "mail.recipients=1"])
                .unwrap();
        assert_eq!(
            MailPlan::of(&submissions).explain(&submissions),
            [
                "users     submit mail of 4,096 bytes to 1 recipient, over a new connection each",
                "target    smtp://h:25; no mail is read, so none is checked",
            ]
        );
        let reading = plan(&["profile=read"]).unwrap();
        let lines = MailPlan::of(&reading).explain(&reading);
        assert_eq!(lines[1], "users     open their mailboxes, and read one mail of INBOX after another");
        let checked = plan(&["profile=submit", "mail.keep_session=true"]).unwrap();
        assert_eq!(
            MailPlan::of(&checked).explain(&checked),
            [
                "data      100 mailboxes of 100 mails in 12 folders, sizes 1 of the published",
                "users     submit mail of 1 of the published sizes to 4 recipients, over one connection",
                "target    the embedded server, durability full; all mail is read and compared after the load",
            ]
        );
        let there = plan(&["target.url=smtp://u:p@h,imaps://i"]).unwrap();
        let lines = MailPlan::of(&there).explain(&there);
        assert!(lines[2].starts_with("target    smtp://h:587,imaps://i:993;"), "{lines:?}");
    }

    #[test]
    fn impossible_settings_are_refused() {
        for (sets, words) in [
            (&["mail.mailboxes=19"][..], "at least the 20 users"),
            (&["mail.mailboxes=20", "mail.recipients=21"], "at most the 20"),
            (&["mail.user=u@example.test"], "an address with {n}"),
            (&["mail.user=u{n}"], "an address with {n}"),
            (&["profile=submit", "mail.user=u@x.test"], "an address with {n}"),
            (&["profile=submit", "target.url=smtp://h", "mail.user=u"], "with or without {n}"),
            (&["profile=submit", "target.url=smtp://h", "mail.user=u@{n}.test"], "before the @"),
            (&["target.url=http://h,imap://h"], "unknown scheme"),
            (&["target.url=smtp://h"], "the address for IMAP is missing"),
            (&["profile=submit", "mail.idle=0.5"], "whose users do nothing else"),
            (&["profile=read", "mail.compression=2.0"], "whose users do nothing else"),
            (&["mail.bytes=4096", "mail.size=0.5"], "gives all mail one size"),
            (&["target.url=smtp://h,imap://h", "deploy.server=dovecot"], "the server is there already"),
            (&["deploy.server=dovecot", "mail.durability=memory"], "with deploy.server = \"dovecot\""),
            (&["deploy.server=postfix", "mail.durability=memory"], "with deploy.server = \"postfix\""),
            (&["deploy.server=maddy", "mail.durability=memory"], "with deploy.server = \"maddy\""),
            (&["deploy.server=maddy", "deploy.agent_cpus=0.5"], "left out without deploy.server"),
            (&["deploy.server=dovecot", "deploy.agent_cpus=0.5"], "left out without deploy.server"),
        ] {
            let text = in_one_line(&plan(sets).unwrap_err());
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
