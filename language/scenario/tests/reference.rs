//! The reference page of the language: its blocks are one scenario, and every key in it is accepted.

use std::io;
use std::path::Path;

use barograph_scenario::read;

#[test]
fn the_blocks_of_the_page_are_one_scenario() {
    let page = include_str!("../../../docs/scenario.md");
    let mut text = String::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```toml" => inside = true,
            "```" => inside = false,
            line if inside => text.push_str(line),
            _ => {}
        }
        // Lines outside of blocks stay as empty ones, so that a refusal names the line of the page.
        text.push('\n');
    }
    let file = |path: &Path| -> io::Result<Vec<u8>> {
        Ok(match path.extension().and_then(|e| e.to_str()) {
            Some("csv") => b"name,password\na,b\n".to_vec(),
            Some("json") => b"{\"type\": \"object\"}".to_vec(),
            _ => b"one\ntwo\n".to_vec(),
        })
    };
    let scenario = read("docs/scenario.md", &text, &file).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario.operations.len(), 9);
    assert_eq!(scenario.behaviours.all().len(), 3);
    assert_eq!(scenario.scripts.len(), 1);
    assert_eq!(read("docs/scenario.md", &scenario.resolved, &file).unwrap(), scenario);
}
