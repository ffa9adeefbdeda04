//! The little markup of [`Part::Text`](crate::Part::Text), taken apart for all faces.

/// Paragraphs, each as its blocks: an item of a list (still with its `- `) or running text.
pub(crate) fn paragraphs(text: &str) -> Vec<Vec<String>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let paragraphs = lines.split(|line| line.is_empty());
    let filled = paragraphs.filter(|lines| !lines.is_empty());
    filled.map(blocks).collect()
}

/// Lines joined, except that each item begins a new block.
fn blocks(lines: &[&str]) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    for line in lines {
        match blocks.last_mut() {
            Some(block) if !line.starts_with("- ") => {
                block.push(' ');
                block.push_str(line);
            }
            _ => blocks.push((*line).to_owned()),
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_part_paragraphs_and_hyphens_items() {
        let found = paragraphs("\nas follows:\n- one\n  more\n- two\n \n\nthe\nend");
        let expected = [vec!["as follows:", "- one more", "- two"], vec!["the end"]];
        assert_eq!(found, expected);
    }
}
