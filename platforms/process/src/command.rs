//! The complete command that starts a program of a unit.
//!
//! Every part before the program replaces itself by the next one (`exec`), so the number of the started
//! process is the number of the program; a process namespace is the only exception.

use std::ffi::OsString;
use std::path::Path;

use barograph_platform::User;
use rustix::process::geteuid;

/// Words that make root another user. In the user namespace any number but 0 represents the user outside.
/// PostgreSQL and httpd create System V shared memory, which would remain if they are killed: it is removed
/// with a namespace of its own.
const NOT_ROOT: [&str; 6] = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--ipc", "--"];

/// Words before a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandPrefix {
    /// Words that keep its processes together.
    pub(crate) hold: Vec<String>,
    /// Words that enter its host.
    pub(crate) host: Vec<String>,
    /// The only cores it may use, if no control group limits them.
    pub(crate) cores: Vec<usize>,
    pub(crate) user: User,
}

impl CommandPrefix {
    /// Returns all words, including the program and its arguments.
    pub(crate) fn words(&self, program: &Path, args: &[String]) -> Vec<OsString> {
        let cores = self.cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let pinned =
            if cores.is_empty() { Vec::new() } else { vec!["taskset".to_owned(), "-c".to_owned(), cores] };
        let before = self.hold.iter().chain(&self.host).chain(&pinned).map(OsString::from);
        let user = user_words(self.user).iter().map(OsString::from);
        before.chain(user).chain([program.into()]).chain(args.iter().map(OsString::from)).collect()
    }
}

/// Only root has to change its user.
fn user_words(user: User) -> &'static [&'static str] {
    if user == User::NotRoot && geteuid().is_root() { &NOT_ROOT } else { &[] }
}

/// Whether `line` is the command line of a process that has not executed the program yet: the last words of
/// `whole`, and more than the last `own` ones, which are the program with its arguments.
pub(crate) fn is_on_its_way(line: &[Vec<u8>], whole: &[OsString], own: usize) -> bool {
    let same = |(a, b): (&Vec<u8>, &OsString)| a == b.as_encoded_bytes();
    line.len() > own
        && line.len() <= whole.len()
        && line.iter().zip(&whole[whole.len() - line.len()..]).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(before: &CommandPrefix) -> String {
        let words = before.words(Path::new("/bin/cat"), &["-u".to_owned()]);
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_command_goes_from_the_outside_to_the_inside() {
        assert_eq!(words(&CommandPrefix::default()), "/bin/cat -u");
        let before = CommandPrefix {
            hold: vec!["hold".to_owned(), "--".to_owned()],
            host: ["nsenter", "--net=/run/netns/x", "--"].map(str::to_owned).to_vec(),
            cores: vec![0, 3],
            user: User::NotRoot,
        };
        let user = if geteuid().is_root() {
            "unshare --user --map-user=1000 --map-group=1000 --ipc -- "
        } else {
            ""
        };
        assert_eq!(
            words(&before),
            format!("hold -- nsenter --net=/run/netns/x -- taskset -c 0,3 {user}/bin/cat -u")
        );
    }

    #[test]
    fn a_process_on_its_way_is_known_by_its_words() {
        let whole = ["sh", "enter", "unshare", "--user", "cat", "-u"].map(OsString::from);
        let line = |text: &str| text.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        for on_its_way in ["sh enter unshare --user cat -u", "unshare --user cat -u", "--user cat -u"] {
            assert!(is_on_its_way(&line(on_its_way), &whole, 2), "{on_its_way}");
        }
        for there in ["cat -u", "cat: a title of its own", "python /bin/cat -u"] {
            assert!(!is_on_its_way(&line(there), &whole, 2), "{there}");
        }
    }
}
