//! Check for enough blocks to find anything, before the study and with its answers.

use barograph_record::{Conclusions, FindingRecord};
use barograph_spec::study::{Configuration, Study};
use barograph_stats::compare::fewest_to_decide;

/// Reason why this study cannot find any configuration better or worse, however different they are: its
/// comparisons are judged together, and need more blocks. `None` if it has enough.
#[must_use]
pub fn too_few_blocks(study: &Study) -> Option<String> {
    let candidates = study.configurations.iter().enumerate();
    let candidates = candidates.filter(|(at, c)| study.baseline_of(c).is_some_and(|base| base != *at));
    let metrics_of = |c: &Configuration| study.metrics.iter().filter(|metric| metric.is_of(c)).count();
    let comparisons: usize = candidates.map(|(_, c)| metrics_of(c)).sum();
    // Without other comparisons the control itself may be found to differ.
    let judged = if comparisons == 0 { study.metrics.len() } else { comparisons };
    let (least, blocks) = (fewest_to_decide(judged), study.repeats.blocks);
    ((blocks as usize) < least).then(|| {
        format!(
            "{blocks} blocks can find nothing better or worse, however different it is: with {judged} comparisons it takes \
             {least} (repeats = {least})"
        )
    })
}

/// The same for a completed study, by its pairs.
pub(crate) fn too_few_pairs(conclusions: &Conclusions) -> Option<String> {
    let rows = conclusions.metrics.iter().flat_map(|metric| &metric.rows);
    let compared: Vec<u32> = rows
        .filter(|row| row.finding != FindingRecord::Baseline && !row.control && row.pairs > 0)
        .map(|row| row.pairs)
        .collect();
    let least = fewest_to_decide(compared.len());
    // One with enough of them can be found, and then Holm requires less of the others.
    let most = *compared.iter().max()?;
    ((most as usize) < least).then(|| {
        format!(
            "Fewer than {least} pairs: with {} comparisons judged together nothing can be found better or worse, however \
             different it is.",
            compared.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::too_few_blocks;

    /// The fewest blocks with which a study of these levels and metrics can find anything.
    fn least(levels: u32, metrics: &[&str]) -> u32 {
        let levels: Vec<String> =
            (1..=levels).map(|n| format!("{{ name = \"{n}\", set = {{ seed = {n} }} }}")).collect();
        let metrics: Vec<String> = metrics.iter().map(|of| format!("[[metric]]\nof = \"{of}\"\n")).collect();
        let study = |blocks: u32| {
            let text = format!(
                "question = \"q\"\nplan = \"p\"\nrepeats = {blocks}\n[[factor]]\nname = \"size\"\nlevels = [{}]\n{}",
                levels.join(", "),
                metrics.concat()
            );
            barograph_spec::study::read("s.toml", &text).unwrap_or_else(|refused| panic!("{refused}"))
        };
        (1..20).find(|blocks| too_few_blocks(&study(*blocks)).is_none()).unwrap()
    }

    #[test]
    fn more_comparisons_take_more_blocks() {
        assert_eq!(least(2, &["throughput"]), 6);
        assert_eq!(least(3, &["throughput", "goodput"]), 8);
        assert_eq!(least(4, &["throughput", "goodput", "requests"]), 9);
    }

    #[test]
    fn it_says_how_many() {
        let text = "question = \"q\"\nplan = \"p\"\nrepeats = 5\n[[metric]]\nof = \"throughput\"\n";
        let study = barograph_spec::study::read("s.toml", text).unwrap_or_else(|refused| panic!("{refused}"));
        let said = too_few_blocks(&study).unwrap();
        assert!(said.starts_with("5 blocks can find nothing") && said.ends_with("(repeats = 6)"), "{said}");
    }
}
