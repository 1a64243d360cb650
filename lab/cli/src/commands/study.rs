//! `barograph study`: many runs in random order, and their conclusions, which `show` and `report` print
//! again.

mod begin;
mod dry_run;
mod prepare;
mod runs;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use barograph_harness::HarnessError;
use barograph_live::Page;
use barograph_model::Metric;
use barograph_model::secret::masked;
use barograph_record::{
    Conclusions, ExitCode, FindingRecord, Folders, RowRecord, STUDY_FILE, STUDY_PREFIX, STUDY_VERSION,
    StudyEntry, StudyHeader, StudyRead, append_to_study, read_study, write_whole,
};
use barograph_spec::study::Study;
use barograph_study::{About, Progress, carry_out, conclude};

use self::begin::StudyArguments;
use self::prepare::{PreparedStudy, StudyOptions, counted, prepare};
use self::runs::{Runs, StudyObservers};
use super::run::{Start, command, warn_of_debug_builds};
use super::{CommandFailure, CommandResult, clean};
use crate::args::{Format, StudyArgs};
use crate::catalog::WORKLOADS;
use crate::terminal;
use crate::watch::{self, place};

/// Folder of a study's runs.
pub(super) fn runs_of(study: &Path) -> PathBuf {
    study.join("runs")
}

/// Carries out a study, resumes one, or describes one.
pub(crate) fn study(args: &StudyArgs) -> CommandResult {
    let (asked, folder) = match &args.resume {
        Some(id) => of_folder(args, id)?,
        None => (StudyOptions::typed(args)?, None),
    };
    let prepared = prepare(&asked)?;
    let missing = prepared.missing()?;
    if args.dry_run {
        terminal::result(dry_run::explain(&prepared, &missing, &args.runs).trim_end());
        return Ok(if missing.is_empty() { ExitCode::Fine } else { ExitCode::Refused });
    }
    if let Some((configuration, missing)) = missing.into_iter().next() {
        let why = anyhow::Error::new(HarnessError::Missing(missing)).context(format!(
            "run configuration `{configuration}`; `--only` leaves levels out, `--dry-run` shows all that is missing"
        ));
        return Err(CommandFailure { code: ExitCode::Refused, why });
    }
    warn_of_debug_builds();
    if let Some(why) = barograph_study::too_few_blocks(&prepared.study) {
        terminal::say(&format!("note      {why}"));
    }
    // First, as an address that cannot be served is refused; the study keeps it to its end.
    let live = watch::page(&args.watch, &prepared.study.name)?;
    let begun = match folder {
        Some(folder) => StudyFolder::again(folder, &prepared)?,
        None => StudyFolder::now(&args.runs, &asked, &prepared)?,
    };
    begun.finish(&prepared, args, live)
}

/// Settings with which a study was begun, from its folder.
fn of_folder(args: &StudyArgs, id: &str) -> Result<(StudyOptions, Option<PathBuf>), CommandFailure> {
    let folder = named(&args.runs, id).unwrap_or_else(|| args.runs.join(id));
    let begin = StudyArguments::read(&folder)?;
    let here = std::env::current_dir().unwrap_or_default();
    if here != Path::new(&begin.folder) {
        let cd = &begin.folder;
        return Err(refused(anyhow!("go on with `{id}` here; it was begun in another folder: cd {cd}")));
    }
    Ok((begin.into_asked(), Some(folder)))
}

/// Folder of the study of this name, or at this path.
pub(super) fn named(runs: &Path, name: &str) -> Option<PathBuf> {
    let folders = [PathBuf::from(name), runs.join(name)];
    folders.into_iter().find(|folder| folder.join(STUDY_FILE).is_file())
}

/// Settings with which the study in this folder was begun.
fn header<'r>(folder: &Path, read: &'r StudyRead) -> Result<&'r StudyHeader, CommandFailure> {
    match read.entries.first() {
        Some(StudyEntry::Header(header)) => Ok(header),
        _ => Err(refused(anyhow!("find the beginning of the study in `{}`", folder.display()))),
    }
}

/// Conclusions from the runs of a study so far, from its folder alone: its file, its plan and this program
/// may have changed since.
pub(super) fn again(folder: &Path) -> Result<Conclusions, CommandFailure> {
    let read = read_study(folder)?;
    let header = header(folder, &read)?;
    let study = barograph_spec::study::read_with(&WORKLOADS.readers(), &header.file, &header.study);
    let study = study.map_err(|why| {
        refused(anyhow!("the study in `{}` is not of this version's kind\n{why}", folder.display()))
    })?;
    let plans =
        header.plans.iter().filter_map(|(name, text)| crate::catalog::WORKLOADS.read(name, text, &[]).ok());
    let counted = counted(plans.map(|plan| plan.unit_of_all()));
    let complete = matches!(read.entries.last(), Some(StudyEntry::Finished {}));
    Ok(concluded(&study, &Progress::new(&study, &read.entries), header, complete, counted))
}

/// Conclusions of the study with this header; `counted` is the unit of its capacities.
fn concluded(
    study: &Study,
    progress: &Progress,
    header: &StudyHeader,
    complete: bool,
    counted: &str,
) -> Conclusions {
    let about = About {
        id: &header.id,
        started_at: &header.started_at,
        tool: &header.tool,
        repeat: &header.command,
        complete,
    };
    let mut conclusions = conclude(study, progress, &about);
    // As recorded, without a folder of the machine.
    conclusions.file.clone_from(&header.file);
    name_the_load(&mut conclusions, counted);
    conclusions
}

/// Writes the page of a study and its conclusions as data into its folder, atomically. Returns the page's
/// path.
pub(super) fn write_page(folder: &Path, conclusions: &Conclusions) -> Result<PathBuf, CommandFailure> {
    let page = barograph_report::study::page(conclusions, folder.join("runs").is_dir());
    let page = page.map_err(|why| CommandFailure::new(ExitCode::Bug, why))?;
    write(folder, "study.html", &page)?;
    write(folder, "study.json", &json(conclusions)?)?;
    Ok(folder.join("study.html"))
}

fn refused(why: anyhow::Error) -> CommandFailure {
    CommandFailure { code: ExitCode::Refused, why }
}

fn cannot_write(why: anyhow::Error) -> CommandFailure {
    CommandFailure { code: ExitCode::CannotWrite, why }
}

/// A begun study with its folder.
struct StudyFolder {
    folder: PathBuf,
    header: StudyHeader,
    entries: Vec<StudyEntry>,
    /// Held as long as this process works on the study.
    _lock: File,
}

impl StudyFolder {
    /// Begins a new study.
    fn now(runs: &Path, asked: &StudyOptions, prepared: &PreparedStudy) -> Result<Self, CommandFailure> {
        let start = Start::now();
        let id = format!("{STUDY_PREFIX}{}", start.id);
        let folder = runs.join(&id);
        std::fs::create_dir_all(runs_of(&folder))
            .with_context(|| format!("create folder `{}`", folder.display()))
            .map_err(cannot_write)?;
        StudyArguments::of(asked).write(&folder)?;
        let folders = folders(&folder, prepared, &command());
        let kept = |text: &str| folders.relative(&masked(text)).into_owned();
        write(&folder, "study.toml", &kept(&prepared.study.resolved()))?;
        let header = StudyHeader {
            v: STUDY_VERSION,
            id,
            tool: super::drive::tool(),
            started_at: start.at().to_owned(),
            command: kept(&command()),
            file: kept(&asked.file.display().to_string()),
            folder: String::new(),
            sets: asked.sets.iter().map(|set| kept(set)).collect(),
            repeats: asked.repeats,
            only: asked.only.clone(),
            study: kept(&prepared.study.resolved()),
            plans: prepared.plans().into_iter().map(|(name, plan)| (name, kept(&plan))).collect(),
        };
        let lock = lock(&folder)?;
        let mut entries = append_to_study(&folder).map_err(|why| cannot_write(why.into()))?;
        let first = StudyEntry::Header(Box::new(header.clone()));
        entries.json(&first).map_err(|why| cannot_write(why.into()))?;
        Ok(StudyFolder { folder, header, entries: vec![first], _lock: lock })
    }

    /// Resumes a study that was stopped or killed.
    fn again(folder: PathBuf, prepared: &PreparedStudy) -> Result<Self, CommandFailure> {
        let lock = lock(&folder)?;
        let read = read_study(&folder)?;
        let header = header(&folder, &read)?.clone();
        let StudyRead { entries, broken } = read;
        // The header has neither passwords of URLs nor folders of this machine; headers of older versions
        // have folders.
        let folders = folders(&folder, prepared, "");
        let is_same = |kept: &str, now: &str| folders.relative(kept) == folders.relative(&masked(now));
        let is_same_plan =
            |(kept, now): (&(String, String), &(String, String))| kept.0 == now.0 && is_same(&kept.1, &now.1);
        let plans = prepared.plans();
        let same_plans =
            header.plans.len() == plans.len() && header.plans.iter().zip(&plans).all(is_same_plan);
        if !is_same(&header.study, &prepared.study.resolved()) || !same_plans {
            return Err(refused(anyhow!(
                "go on with `{}`: its study, its plan or this program changed what is run since it was begun; `{}` begins a \
                 new one",
                header.id,
                header.command
            )));
        }
        if broken > 0 {
            let file = folder.join(STUDY_FILE);
            terminal::say(&format!(
                "note      {broken} lines of {} cannot be read and count as none",
                file.display()
            ));
        }
        // Leftovers of a killed run would disturb the following ones.
        clean::of_study(&folder)?;
        let at = Start::now().at().to_owned();
        let mut appender = append_to_study(&folder).map_err(|why| cannot_write(why.into()))?;
        appender.json(&StudyEntry::Resumed { at }).map_err(|why| cannot_write(why.into()))?;
        Ok(StudyFolder { folder, header, entries, _lock: lock })
    }

    /// Makes the remaining runs and concludes from all of them; shows this on the live page, too, if there is
    /// one.
    fn finish(self, prepared: &PreparedStudy, args: &StudyArgs, live: Option<Arc<Page>>) -> CommandResult {
        let StudyFolder { folder, header, entries, .. } = &self;
        let study = &prepared.study;
        let mut progress = Progress::new(study, entries);
        let resumed = progress.warmed_up().len() + progress.ended().len();
        if resumed > 0 {
            terminal::say(&format!("{} goes on after {resumed} runs", header.id));
        }
        let mut appender = append_to_study(folder).map_err(|why| cannot_write(why.into()))?;
        let watched = StudyObservers { page: live.clone(), export_to: args.watch.export_to.clone() };
        let mut runner = Runs::new(prepared, &runs_of(folder), watched)?;
        let complete = carry_out(study, &mut progress, &mut appender, &mut runner).map_err(|why| {
            // Viewers of the page do not see the terminal.
            if let Some(live) = &live {
                live.end(&[format!("{:#}", why.0.why), place("record", folder)]);
            }
            why.0
        })?;

        let conclusions = concluded(study, &progress, header, complete, prepared.counted());
        print(&conclusions, args.format)?;
        let page = write_page(folder, &conclusions)?;
        terminal::say(&format!("report  {}", page.display()));
        terminal::say(&format!("record  {}", folder.display()));
        let again = (!complete).then(|| format!("again   barograph study --resume {} goes on", header.id));
        if let Some(again) = &again {
            terminal::say(again);
        }
        if let Some(live) = live {
            let places = [place("report", &page), place("record", folder)];
            let words: Vec<String> =
                conclusions.sentences.iter().cloned().chain(places).chain(again).collect();
            live.end(&words);
        }
        if !complete {
            return Ok(ExitCode::Interrupted);
        }
        Ok(end(&conclusions, args.gate, args.strict))
    }
}

/// Folders of this machine that the texts of a study name.
fn folders(study: &Path, prepared: &PreparedStudy, command: &str) -> Folders {
    if prepared.has_absolute_paths() {
        return Folders::absolute();
    }
    let mut folders = Folders::of(study.parent().unwrap_or(study));
    folders.learn(&prepared.study.resolved());
    prepared.plans().iter().for_each(|(_, plan)| folders.learn(plan));
    folders.learn(command);
    folders
}

/// Exit code of a complete study: not valid first; then, with `gate`, worse, unknown and undecided. Findings
/// on a control show whether the rest is valid.
fn end(conclusions: &Conclusions, gate: bool, strict: bool) -> ExitCode {
    let compared = || conclusions.metrics.iter().flat_map(|metric| &metric.rows).filter(|row| !row.control);
    let any = |finding| compared().any(|row| row.finding == finding);
    let mut others = conclusions.configurations.iter().filter(|configuration| !configuration.control);
    let breaks_rules = others.any(|configuration| configuration.breaks_rules);
    match () {
        () if !conclude::believable(conclusions) => ExitCode::NotValid,
        () if gate && (any(FindingRecord::Worse) || breaks_rules) => ExitCode::Regression,
        () if gate && compared().any(RowRecord::is_without_pairs) => ExitCode::NotValid,
        () if strict && any(FindingRecord::Undecided) => ExitCode::Undecided,
        () => ExitCode::Fine,
    }
}

/// Sets the unit of capacities to that of the plans; a study alone only knows that they are levels of load.
fn name_the_load(conclusions: &mut Conclusions, unit: &str) {
    let metrics = conclusions.metrics.iter_mut().map(|metric| &mut metric.unit);
    let units = metrics.chain(conclusions.scaling.iter_mut().map(|scaling| &mut scaling.unit));
    // A capacity with a divisor has the divisor's unit behind its own.
    for known in units {
        *known = known.replace(Metric::Capacity.unit(), unit);
    }
}

/// Locks a study against other processes.
fn lock(folder: &Path) -> Result<File, CommandFailure> {
    let path = folder.join("study.toml");
    let file = File::open(&path).with_context(|| format!("open `{}`", path.display())).map_err(refused)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(refused(anyhow!("go on with the study in `{}`: it is still going on", folder.display())))
        }
        Err(TryLockError::Error(why)) => {
            Err(refused(anyhow::Error::new(why).context(format!("lock `{}`", path.display()))))
        }
    }
}

fn json(conclusions: &Conclusions) -> Result<String, CommandFailure> {
    let text = serde_json::to_string_pretty(conclusions).context("write the conclusions as JSON");
    text.map(|text| text + "\n").map_err(|why| CommandFailure { code: ExitCode::Bug, why })
}

fn print(conclusions: &Conclusions, format: Format) -> Result<(), CommandFailure> {
    let text = match format {
        Format::Text => barograph_report::study::text(conclusions),
        Format::Json => json(conclusions)?,
        Format::Markdown => barograph_report::study::markdown(conclusions),
        Format::Junit => barograph_report::study::junit(conclusions),
    };
    terminal::result(text.trim_end());
    Ok(())
}

/// Writes a file into the study's folder atomically.
fn write(folder: &Path, name: &str, text: &str) -> Result<(), CommandFailure> {
    write_whole(&folder.join(name), text.as_bytes()).map_err(|why| cannot_write(why.into()))
}

#[cfg(test)]
mod tests {
    use barograph_record::{ConfigurationRecord, MetricRecord};

    use super::*;

    /// A study with one finding on the only configuration besides the baseline.
    fn with(found: FindingRecord, control: bool) -> Conclusions {
        let row = |finding, control| RowRecord {
            configuration: "size 2".to_owned(),
            baseline: "size 1".to_owned(),
            control,
            runs: 7,
            median: 1.0,
            lowest: 1.0,
            highest: 1.0,
            pairs: 7,
            ratio: 1.0,
            low: 1.0,
            high: 1.0,
            p: 1.0,
            p_holm: 1.0,
            finding,
            ..RowRecord::default()
        };
        let rows = vec![row(FindingRecord::Baseline, false), row(found, control)];
        Conclusions {
            configurations: vec![ConfigurationRecord { valid: 7, ..ConfigurationRecord::default() }],
            metrics: vec![MetricRecord { rows, ..MetricRecord::default() }],
            ..Conclusions::default()
        }
    }

    #[test]
    fn only_who_asks_gets_a_code_for_what_was_found() {
        use ExitCode::{Fine, Regression, Undecided};
        for (found, plain, gate, strict) in [
            (FindingRecord::Worse, Fine, Regression, Regression),
            (FindingRecord::Undecided, Fine, Fine, Undecided),
            (FindingRecord::Better, Fine, Fine, Fine),
            (FindingRecord::Equivalent, Fine, Fine, Fine),
        ] {
            let study = with(found, false);
            let ends = [end(&study, false, false), end(&study, true, false), end(&study, true, true)];
            assert_eq!(ends, [plain, gate, strict], "{found:?}");
        }
        assert_eq!(end(&with(FindingRecord::Undecided, true), true, true), Fine, "a control decides nothing");
    }

    #[test]
    fn a_gate_passes_nothing_that_broke_rules_or_was_not_measured() {
        let mut broken = with(FindingRecord::Equivalent, false);
        broken.configurations[0].breaks_rules = true;
        assert_eq!(
            [end(&broken, false, false), end(&broken, true, false)],
            [ExitCode::Fine, ExitCode::Regression]
        );
        broken.configurations[0].control = true;
        assert_eq!(end(&broken, true, true), ExitCode::Fine, "a control decides nothing");
        let mut unknown = with(FindingRecord::Undecided, false);
        unknown.metrics[0].rows[1].pairs = 0;
        assert_eq!(
            [end(&unknown, false, false), end(&unknown, true, false)],
            [ExitCode::Fine, ExitCode::NotValid]
        );
        unknown.metrics.extend(with(FindingRecord::Worse, false).metrics);
        assert_eq!(end(&unknown, true, false), ExitCode::Regression, "what is known to be worse comes first");
    }

    #[test]
    fn what_cannot_be_believed_comes_before_what_is_worse() {
        let mut study = with(FindingRecord::Worse, false);
        study.configurations[0].valid = 0;
        assert_eq!(end(&study, true, true), ExitCode::NotValid);
    }
}
