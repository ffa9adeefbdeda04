//! Reads the commands out of a page: lines that begin with `$ ` in blocks marked ```` ```console ````.
//! Other lines of the block are output and are not compared; other blocks are prose.

use crate::failure::Failure;

/// A command as the page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownCommand {
    /// Where it begins, counted from 1.
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) expected: i32,
}

const PROMPT: &str = "$ ";
/// What a shell shows before the second line of a command.
const CONTINUED: &str = "> ";
const EXITS: &str = "# exits ";

pub(super) fn commands(page: &str) -> Result<Vec<ShownCommand>, Failure> {
    let mut found = Vec::new();
    let mut lines = page.lines().map(str::trim).zip(1..);
    let mut block = Block::None;
    while let Some((text, line)) = lines.next() {
        if let Some(info) = text.strip_prefix("```") {
            block = block.fence(info);
        } else if let (Block::Console, Some(first)) = (&block, text.strip_prefix(PROMPT)) {
            let text = join(first, &mut lines);
            let expected = expected_code(&text, line)?;
            found.push(ShownCommand {
                line,
                text,
                expected,
            });
        }
    }
    Ok(found)
}

enum Block {
    None,
    Console,
    Other,
}

impl Block {
    /// A fence closes the block it is in, or opens the one it names.
    fn fence(&self, info: &str) -> Self {
        match (self, info.split_whitespace().next()) {
            (Self::None, Some("console")) => Self::Console,
            (Self::None, _) => Self::Other,
            (Self::Console | Self::Other, _) => Self::None,
        }
    }
}

/// A backslash at the end of a line asks for the next one.
fn join<'a>(first: &str, rest: &mut impl Iterator<Item = (&'a str, usize)>) -> String {
    let mut text = first.to_owned();
    while text.ends_with('\\') {
        text.pop();
        let Some((next, _)) = rest.next() else { break };
        text.push_str(next.strip_prefix(CONTINUED).unwrap_or(next));
    }
    text
}

/// `# exits 1` behind a command; 0 without it.
fn expected_code(text: &str, line: usize) -> Result<i32, Failure> {
    let Some((_, code)) = text.rsplit_once(EXITS) else {
        return Ok(0);
    };
    code.trim().parse().map_err(|_| {
        Failure::new(
            format!("README.md:{line}: `{EXITS}{code}` is no exit code"),
            "write a number, as in `# exits 1`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(page: &str) -> Vec<String> {
        let all = commands(page).unwrap();
        all.into_iter().map(|command| command.text).collect()
    }

    #[test]
    fn commands_are_the_prompted_lines_of_console_blocks() {
        let page =
            "# Title\n$ not this\n```console\n$ one --flag\noutput $ not this\n\n$ two\n```\n";
        assert_eq!(texts(page), ["one --flag", "two"]);
        assert_eq!(commands(page).unwrap()[0].line, 4);
    }

    #[test]
    fn other_blocks_are_prose() {
        assert!(texts("```text\n$ no\n```\n```\n$ no\n```\n```consoles\n$ no\n```\n").is_empty());
        assert_eq!(
            texts("```text\n```console\n```console\n$ yes\n```\n"),
            ["yes"]
        );
    }

    #[test]
    fn blocks_inside_lists_count_too() {
        assert_eq!(texts("- first:\n  ```console\n  $ yes\n  ```\n"), ["yes"]);
    }

    #[test]
    fn a_backslash_joins_lines() {
        assert_eq!(
            texts("```console\n$ one \\\n>   --two\nout\n```\n"),
            ["one   --two"]
        );
        assert_eq!(texts("```console\n$ one \\"), ["one "]);
    }

    #[test]
    fn another_exit_code_is_stated_behind_the_command() {
        let page = "```console\n$ nearside query 127.0.0.1:9 # exits 1\n$ nearside\n```\n";
        let codes: Vec<i32> = commands(page).unwrap().iter().map(|c| c.expected).collect();
        assert_eq!(codes, [1, 0]);
    }

    #[test]
    fn a_code_that_is_no_number_is_refused_with_its_line() {
        let failure = commands("```console\n$ a # exits badly\n```\n").unwrap_err();
        assert!(failure.to_string().contains("README.md:2"), "{failure}");
    }
}
