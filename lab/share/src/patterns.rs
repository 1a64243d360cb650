//! Private data that should not leave a machine, as patterns over lines of text.

use barograph_model::secret::MASK;
use regex::Regex;

/// Kind of private data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PatternKind {
    /// An absolute path of this machine.
    Path,
    /// The name of this machine.
    Host,
    /// The name of the user.
    User,
    /// A password, in a URL or after its name.
    Password,
    /// A token, a cookie, or a key of an interface.
    Token,
    /// A private key.
    Key,
}

impl PatternKind {
    /// All kinds.
    pub const ALL: [PatternKind; 6] = [
        PatternKind::Path,
        PatternKind::Host,
        PatternKind::User,
        PatternKind::Password,
        PatternKind::Token,
        PatternKind::Key,
    ];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            PatternKind::Path => "path",
            PatternKind::Host => "host",
            PatternKind::User => "user",
            PatternKind::Password => "password",
            PatternKind::Token => "token",
            PatternKind::Key => "key",
        }
    }

    /// Whether the text itself must not be shown.
    pub(crate) const fn is_secret(self) -> bool {
        matches!(self, PatternKind::Password | PatternKind::Token | PatternKind::Key)
    }
}

/// Names of this machine and its user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The name of the host.
    pub host: String,
    /// The name of the user; empty if unknown.
    pub user: String,
    /// Folders that hold files of the user: home, working folder, temporary folder, folder of the record.
    pub folders: Vec<String>,
}

/// Folders of users' files on any machine.
const FOLDERS: [&str; 9] =
    ["/home", "/root", "/tmp", "/var/tmp", "/run/user", "/mnt", "/media", "/Users", "/private"];

/// Names that identify neither a machine nor a person, and are frequent in records.
const ORDINARY: [&str; 20] = [
    "admin",
    "app",
    "barograph",
    "container",
    "db",
    "debian",
    "host",
    "localhost",
    "mysql",
    "nginx",
    "nobody",
    "node",
    "postgres",
    "redis",
    "root",
    "server",
    "ubuntu",
    "user",
    "vm",
    "web",
];

/// Values after the name of a secret that are not secret: masks, words and templates.
const NO_VALUES: [&str; 10] =
    [MASK, "true", "false", "null", "none", "required", "optional", "undefined", "string", "password"];

/// Passwords, each in the group of its pattern.
const PASSWORDS: [&str; 2] = [
    r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/"'<>:@]*:([^\s/"'<>]+)@"#,
    r#"(?i)(?:^|[^a-z])[a-z0-9_.-]*(?:password|passwd|passphrase|secret|_pass)\\?["']?\s*[=:]\s*\\?["']?([^\s"',;&<>\\]{3,})"#,
];

/// Tokens, each in the group of its pattern.
const TOKENS: [&str; 5] = [
    r"(?i)\bbearer\s+([a-z0-9+/=._~-]{16,})",
    r#"(?i)\b(?:authorization|cookie)\\?["']?\s*[=:]\s*\\?["']?(?:[a-z]+ )?([^\s"',;<>\\]{6,})"#,
    r#"(?i)(?:^|[^a-z])[a-z0-9_.-]*(?:token|api[_-]?key|access[_-]?key)\\?["']?\s*[=:]\s*\\?["']?([^\s"',;&<>\\]{8,})"#,
    r"\b(gh[opsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16})",
    r"\b(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,})",
];

/// The head of a private key.
const KEYS: [&str; 1] = [r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)"];

/// The patterns of all kinds for one machine.
pub(crate) struct Patterns(Vec<(PatternKind, Regex)>);

impl Patterns {
    pub(crate) fn of(machine: &Machine) -> Self {
        let mut all = Vec::new();
        let mut add = |kind, pattern: &str| {
            all.push((kind, Regex::new(pattern).expect("patterns are constants and escaped names")));
        };
        let folders = FOLDERS.iter().copied().chain(machine.folders.iter().map(String::as_str));
        let folders: Vec<String> = folders.filter(|folder| folder.len() > 1).map(regex::escape).collect();
        let path =
            format!(r#"(?:^|[^A-Za-z0-9._~}}%/-])((?:file://)?(?:{})/[^\s"'`<>,;)\\]+)"#, folders.join("|"));
        add(PatternKind::Path, &path);
        names(&machine.host).iter().for_each(|name| add(PatternKind::Host, &whole(name)));
        names(&machine.user).iter().for_each(|name| add(PatternKind::User, &whole(name)));
        PASSWORDS.iter().for_each(|pattern| add(PatternKind::Password, pattern));
        TOKENS.iter().for_each(|pattern| add(PatternKind::Token, pattern));
        KEYS.iter().for_each(|pattern| add(PatternKind::Key, pattern));
        Patterns(all)
    }

    /// The findings in a line, each kind once with its first text.
    pub(crate) fn find(&self, line: &str) -> Vec<(PatternKind, String)> {
        let mut found: Vec<(PatternKind, String)> = Vec::new();
        for (kind, pattern) in &self.0 {
            let is_new = found.iter().all(|(known, _)| known != kind);
            let texts = pattern.captures_iter(line).filter_map(|groups| Some(groups.get(1)?.as_str()));
            if is_new && let Some(text) = texts.into_iter().find(|text| is_value(*kind, text)) {
                found.push((*kind, text.to_owned()));
            }
        }
        found
    }
}

/// A name as a whole word.
fn whole(name: &str) -> String {
    format!(r"(?:^|[^A-Za-z0-9_-])({})(?:[^A-Za-z0-9_-]|$)", regex::escape(name))
}

/// A name, and its part before the first full stop, unless they are ordinary.
fn names(name: &str) -> Vec<&str> {
    let short = name.split('.').next().unwrap_or_default();
    let mut names = vec![name, short];
    names.dedup();
    names.retain(|name| !name.is_empty() && !ORDINARY.contains(&name.to_ascii_lowercase().as_str()));
    names
}

fn is_value(kind: PatternKind, text: &str) -> bool {
    let is_template = || text.starts_with(['$', '{', '<', '%', '[', '(']);
    let is_word =
        || NO_VALUES.contains(&text.trim_end_matches(['.', ')', '}']).to_ascii_lowercase().as_str());
    !matches!(kind, PatternKind::Password | PatternKind::Token) || !(is_template() || is_word())
}
