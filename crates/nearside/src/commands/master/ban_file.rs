//! The file of bans, which requests change and people too: what they wrote around the bans stays.

use std::path::Path;

use anyhow::{Context, Result};
use nearside_registry::Ban;
use serde::Deserialize;
use toml_edit::{
    Array, ArrayOfTables, DocumentMut, InlineTable, Item, RawString, Table, TableLike, Value, value,
};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BanFile {
    ban: Vec<Ban>,
}

/// A file that is not there has no bans.
pub(super) fn read(path: Option<&Path>) -> Result<Vec<Ban>> {
    let Some(path) = path.filter(|path| path.exists()) else {
        return Ok(Vec::new());
    };
    let (name, text) = (path.display(), text_of(path)?);
    let file: BanFile = toml::from_str(&text).with_context(|| name.to_string())?;
    Ok(file.ban)
}

/// Makes these the bans of the file. Written beside and moved into place, so that no crash leaves half
/// of it.
pub(super) fn write(path: &Path, bans: &[Ban]) -> Result<()> {
    let before = match path.exists() {
        true => text_of(path)?,
        false => String::new(),
    };
    let text = edited(&before, bans).with_context(|| path.display().to_string())?;
    let beside = path.with_extension("toml.new");
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn text_of(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The text with these bans: those it has stay where they are, with their comments; others go, with
/// the comment right above them; new ones come last.
fn edited(text: &str, bans: &[Ban]) -> Result<String> {
    let filed = toml::from_str::<BanFile>(text)?.ban;
    let mut document: DocumentMut = text.parse()?;
    let wanted = |filed: &Ban| bans.iter().find(|ban| ban.target == filed.target);
    let stay: Vec<Option<&Ban>> = filed.iter().map(wanted).collect();
    let is_new = |ban: &&Ban| filed.iter().all(|filed| filed.target != ban.target);
    let new: Vec<&Ban> = bans.iter().filter(is_new).collect();
    let none = Item::ArrayOfTables(ArrayOfTables::new());
    match document.entry("ban").or_insert(none) {
        Item::Value(Value::Array(array)) => edit_array(array, &stay, &new),
        entries => {
            let tables = entries.as_array_of_tables_mut();
            let tables = tables.context("`ban` is no list of bans")?;
            let left = edit_tables(tables, &stay, &new);
            let end = left + raw(Some(document.trailing()));
            document.set_trailing(end);
        }
    }
    Ok(document.to_string())
}

/// `[[ban]]`. Gives the comments that stay and have no ban below them any more.
fn edit_tables(tables: &mut ArrayOfTables, stay: &[Option<&Ban>], new: &[&Ban]) -> String {
    let mut left = String::new();
    for (table, ban) in tables.iter_mut().zip(stay) {
        let above = raw(table.decor().prefix()).to_owned();
        match ban {
            Some(ban) => {
                set_reason(table, ban);
                table
                    .decor_mut()
                    .set_prefix(std::mem::take(&mut left) + &above);
            }
            None => left += apart(&above),
        }
    }
    let mut stays = stay.iter();
    tables.retain(|_| stays.next().is_none_or(Option::is_some));
    for ban in new {
        let mut table = Table::new();
        fill(&mut table, ban);
        // Comments that lost their ban stay above those that come.
        if !left.is_empty() {
            let above = std::mem::take(&mut left);
            table.decor_mut().set_prefix(above + "\n");
        }
        tables.push(table);
    }
    left
}

/// `ban = [{ … }]`.
fn edit_array(array: &mut Array, stay: &[Option<&Ban>], new: &[&Ban]) {
    for (entry, ban) in array.iter_mut().zip(stay) {
        if let (Value::InlineTable(table), Some(ban)) = (entry, ban) {
            set_reason(table, ban);
        }
    }
    let mut stays = stay.iter();
    array.retain(|_| stays.next().is_none_or(Option::is_some));
    for ban in new {
        let mut table = InlineTable::new();
        fill(&mut table, ban);
        array.push(table);
    }
}

/// What a comment above a ban says of others: all but its last paragraph, which is the ban's own.
fn apart(above: &str) -> &str {
    above.rfind("\n\n").map_or("", |end| &above[..=end])
}

fn raw(text: Option<&RawString>) -> &str {
    text.and_then(RawString::as_str).unwrap_or_default()
}

fn set_reason(table: &mut dyn TableLike, ban: &Ban) {
    let known = table.get("reason").and_then(Item::as_str);
    if known != Some(&*ban.reason) {
        table.insert("reason", value(&ban.reason));
    }
}

fn fill(table: &mut dyn TableLike, ban: &Ban) {
    table.insert("target", value(ban.target.to_string()));
    table.insert("reason", value(&ban.reason));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ban(target: &str, reason: &str) -> Ban {
        Ban {
            target: target.parse().unwrap(),
            reason: reason.to_owned(),
        }
    }

    const BY_HAND: &str = r#"# Ask Kim before lifting any.

# Since March.
[[ban]]
target = "192.0.2.0/24" # their whole block
reason = "fake players"

# From the forum, thread 12.
[[ban]]
target = "AS64496"
reason = 'spam'
# The end.
"#;

    #[test]
    fn what_people_wrote_stays_when_a_ban_is_added_changed_or_lifted() {
        let (block, system) = (ban("192.0.2.0/24", "fake players"), ban("AS64496", "spam"));
        let same = edited(BY_HAND, &[block.clone(), system.clone()]).unwrap();
        assert_eq!(same, BY_HAND);

        let new = ban("198.51.100.7", "a \"quoted\" word");
        let all = [block.clone(), system.clone(), new.clone()];
        let added = edited(BY_HAND, &all).unwrap();
        let comments = BY_HAND.lines().filter(|line| line.contains('#'));
        for line in comments.clone() {
            assert!(added.lines().any(|kept| kept == line), "{line}\n{added}");
        }
        assert_eq!(toml::from_str::<BanFile>(&added).unwrap().ban, all);
        assert_eq!(
            edited(&added, &[block.clone(), system.clone()]).unwrap(),
            BY_HAND,
            "as it was before"
        );

        let other = ban("192.0.2.0/24", "and for good");
        let changed = edited(BY_HAND, &[other.clone(), system.clone()]).unwrap();
        assert_eq!(changed.matches('#').count(), comments.count(), "{changed}");
        let read = toml::from_str::<BanFile>(&changed).unwrap().ban;
        assert_eq!(read, [other, system.clone()]);

        // Its own comment goes with it, others stay.
        let lifted = edited(BY_HAND, &[system]).unwrap();
        assert!(!lifted.contains("Since March"), "{lifted}");
        for stays in ["Ask Kim", "From the forum", "The end"] {
            assert!(lifted.contains(stays), "{lifted}");
        }
        let none = edited(BY_HAND, &[]).unwrap();
        assert!(
            none.contains("Ask Kim") && none.contains("The end"),
            "{none}"
        );
        let again = edited(&none, std::slice::from_ref(&new)).unwrap();
        assert!(again.contains("Ask Kim"), "{again}");
        assert_eq!(toml::from_str::<BanFile>(&again).unwrap().ban, [new]);
    }

    #[test]
    fn an_array_stays_an_array_and_an_empty_file_gets_tables() {
        let array =
            "ban = [\n  # Since March.\n  { target = \"192.0.2.1\", reason = \"spam\" },\n]\n";
        let (old, new) = (ban("192.0.2.1", "spam"), ban("192.0.2.2", "too"));
        let added = edited(array, &[old.clone(), new.clone()]).unwrap();
        assert!(added.contains("# Since March."), "{added}");
        let read = toml::from_str::<BanFile>(&added).unwrap().ban;
        assert_eq!(read, [old.clone(), new.clone()]);
        let lifted = edited(&added, std::slice::from_ref(&new)).unwrap();
        assert_eq!(toml::from_str::<BanFile>(&lifted).unwrap().ban, [new]);
        let first = edited("", std::slice::from_ref(&old)).unwrap();
        assert_eq!(
            first,
            "[[ban]]\ntarget = \"192.0.2.1/32\"\nreason = \"spam\"\n"
        );
        assert_eq!(edited(&first, &[]).unwrap(), "");
    }
}
