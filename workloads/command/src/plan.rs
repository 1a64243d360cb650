//! The keys of the workload in plans: `[command]`.

use std::collections::HashSet;
use std::sync::Arc;

use barograph_model::MeasureSpec;
use barograph_spec::{Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::command_line::{join, split};
use crate::measures::MEASURES;
use crate::seam::{Commands, NAME};

/// Most commands of a plan.
pub(crate) const MOST_LINES: usize = 16;

/// Most runs of each command that are not counted.
const MOST_WARM_UP_RUNS: u64 = 1_000;

/// Longest name of a command: a column of a table.
const LONGEST_NAME: usize = 14;

/// Names of other operations.
const TAKEN: [&str; 3] = ["Prepare", "WarmUp", "Cleanup"];

/// A command with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedCommand {
    pub(crate) name: String,
    pub(crate) words: Vec<String>,
}

/// The settings of the workload in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandPlan {
    /// The commands; the first is the baseline of comparisons.
    pub(crate) commands: Vec<NamedCommand>,
    /// Command before each run.
    pub(crate) prepare: Option<Vec<String>>,
    /// Command after each run.
    pub(crate) cleanup: Option<Vec<String>>,
    /// Runs of each command that are not counted.
    pub(crate) warm_up_runs: u64,
    /// Whether any exit code is a success.
    pub(crate) any_exit_code: bool,
}

impl CommandPlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> Self {
        plan.settings::<Self>().expect("a plan of this workload is read with its keys").clone()
    }
}

impl WorkloadKeys for Commands {
    fn name(&self) -> &'static str {
        NAME
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let one = g.optional_word("command.line", "a command: a program with its arguments");
        let count = g.tables("command.lines", MOST_LINES, "a list of 1 to 16 tables with `name` and `line`");
        let shell = g.flag("command.shell", false);
        let prepare = g.optional_word("command.prepare", "a command");
        let cleanup = g.optional_word("command.cleanup", "a command");
        let warm_up_runs = g.number("command.warm_up_runs", 0..=MOST_WARM_UP_RUNS, 0);
        let any_exit_code = g.flag("command.any_exit_code", false);
        let shell = shell?;
        let commands = commands(g, (one?, count?), shell)?;
        let mut beside = |key: &str, line: Option<String>| match line {
            Some(line) => words(g, key, &line, shell).map(Some),
            None => Some(None),
        };
        let (prepare, cleanup) = (beside("command.prepare", prepare?), beside("command.cleanup", cleanup?));
        Some(Arc::new(CommandPlan {
            commands,
            prepare: prepare?,
            cleanup: cleanup?,
            warm_up_runs: warm_up_runs?,
            any_exit_code: any_exit_code?,
        }))
    }
}

/// The one command, or those of the list.
fn commands(
    g: &mut SettingsReader,
    (one, count): (Option<String>, usize),
    shell: bool,
) -> Option<Vec<NamedCommand>> {
    let allowed = "a command, here or in [[command.lines]]";
    match (one, count) {
        (Some(line), 0) => {
            let words = words(g, "command.line", &line, shell)?;
            Some(vec![NamedCommand { name: "Run".to_owned(), words }])
        }
        (None, 1..) => {
            let listed: Vec<NamedCommand> =
                (0..count).map(|at| listed(g, at, shell)).collect::<Option<_>>()?;
            let mut names = HashSet::new();
            for (at, command) in listed.iter().enumerate() {
                if !names.insert(&command.name) {
                    let key = format!("command.lines[{at}].name");
                    g.refuse(&key, &command.name, "a name for each command", "give it another name");
                    return None;
                }
            }
            Some(listed)
        }
        (Some(line), _) => {
            g.refuse("command.line", line, "one command, or a list of them", "leave one of both out");
            None
        }
        (None, 0) => {
            g.refuse("command.line", "nothing", allowed, "set it, as in command.line = \"sort file\"");
            None
        }
    }
}

fn listed(g: &mut SettingsReader, at: usize, shell: bool) -> Option<NamedCommand> {
    let key = |of: &str| format!("command.lines[{at}].{of}");
    let (name, line) = (g.listed_word(&key("name"), &[]), g.listed_word(&key("line"), &[]));
    let (name, line) = (name?, line?);
    if !is_name(&name) {
        let allowed =
            format!("up to {LONGEST_NAME} letters, digits, - and _, and none of {}", TAKEN.join(", "));
        g.refuse(&key("name"), &name, &allowed, "give it such a name");
        return None;
    }
    let words = words(g, &key("line"), &line, shell)?;
    Some(NamedCommand { name, words })
}

/// Whether a command may have this name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_plain) && !TAKEN.contains(&name)
}

fn words(g: &mut SettingsReader, key: &str, line: &str, shell: bool) -> Option<Vec<String>> {
    if shell {
        return Some(["/bin/sh", "-c", line].map(str::to_owned).to_vec());
    }
    match split(line) {
        Ok(words) => Some(words),
        Err(allowed) => {
            g.refuse(key, format!("{line:?}"), allowed, "correct the line, or set command.shell = true");
            None
        }
    }
}

impl WorkloadSettings for CommandPlan {
    fn explain(&self, _: &Plan) -> Vec<String> {
        let mut lines: Vec<String> =
            self.commands.iter().map(|c| format!("command   {}: {}", c.name, join(&c.words))).collect();
        if self.commands.len() > 1 {
            lines.push("order     each command once in a round, in random order".to_owned());
        }
        lines.extend(self.prepare.as_ref().map(|words| format!("before    {}", join(words))));
        lines.extend(self.cleanup.as_ref().map(|words| format!("after     {}", join(words))));
        if self.warm_up_runs > 0 {
            lines.push(format!("warm-up   {} runs of each that are not counted", self.warm_up_runs));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::words::in_one_line;
    use barograph_spec::{Catalogue, Refusals};

    use super::*;

    fn plan(keys: &str) -> Result<Plan, Refusals> {
        let text =
            format!("workload = \"command\"\n[load]\nstrategy = \"fixed\"\nusers = 1\n[command]\n{keys}\n");
        barograph_spec::read(Catalogue::of(&[&Commands]), "a plan", &text, &[])
    }

    #[test]
    fn one_command_or_a_list_of_them() {
        let one = plan("line = \"sort -u 'a file'\"").unwrap();
        let own = CommandPlan::of(&one);
        assert_eq!(own.commands[0].words, ["sort", "-u", "a file"]);
        assert_eq!(own.explain(&one), ["command   Run: sort -u 'a file'"]);
        let two = plan(
            "prepare = \"sync\"\nwarm_up_runs = 2\nshell = true\n[[command.lines]]\nname = \"a\"\nline = \"x | y\"\n\
             [[command.lines]]\nname = \"b\"\nline = \"z\"",
        )
        .unwrap();
        let own = CommandPlan::of(&two);
        assert_eq!(own.commands[0].words, ["/bin/sh", "-c", "x | y"]);
        assert_eq!((own.commands[1].name.as_str(), own.warm_up_runs), ("b", 2));
        let lines = own.explain(&two).join("\n");
        assert!(
            lines.contains("a: /bin/sh -c 'x | y'") && lines.contains("before    /bin/sh -c sync"),
            "{lines}"
        );
    }

    #[test]
    fn wrong_commands_are_refused() {
        for (keys, found) in [
            ("", "a command, here or in [[command.lines]]"),
            ("line = \"a 'b\"", "an end to every quote"),
            ("line = \"a\"\n[[command.lines]]\nname = \"a\"\nline = \"b\"", "one command, or a list"),
            ("[[command.lines]]\nname = \"Prepare\"\nline = \"b\"", "none of Prepare, WarmUp, Cleanup"),
            (
                "[[command.lines]]\nname = \"a\"\nline = \"b\"\n[[command.lines]]\nname = \"a\"\nline = \"c\"",
                "a name for each command",
            ),
        ] {
            let refused = plan(keys).map(|_| ()).unwrap_err();
            let text = in_one_line(&refused);
            assert!(text.contains(found), "{keys}: {text}");
        }
    }
}
