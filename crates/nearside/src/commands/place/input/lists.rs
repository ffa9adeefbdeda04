//! Latencies as matchmakers have them, in JSON:
//!
//! - `{player: {region: ms}}`
//! - GameLift matchmaking: `[{"PlayerId": "anna", "LatencyInMs": {"us-east-1": 31}}]`
//! - GameLift placement: `[{"PlayerId": "anna", "RegionIdentifier": "us-east-1",
//!   "LatencyInMilliseconds": 31}]`
//!
//! The lists may stand inside an object, as `Players` or `PlayerLatencies`. A latency of `null` was not
//! measured. Whoever is named plays, also without any latency: leaving somebody out would be an answer
//! to another question.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use super::{Latencies, strict};

/// `None` when the JSON is none of these forms.
pub(super) fn read(bytes: &[u8]) -> Result<Option<Latencies>> {
    // An instance may be large, and is read without a detour over values.
    if looks_like_an_instance(bytes) {
        return Ok(None);
    }
    match strict::read(bytes)? {
        Value::Array(list) => players(list).map(Some),
        Value::Object(mut object) => match list_of(&mut object)? {
            Some(list) => players(list).map(Some),
            None if object.is_empty() => bail!("an empty object: {FORMS}"),
            None if is_a_map(&object) => map(object).map(Some),
            None => Ok(None),
        },
        _ => bail!("neither an instance nor a list of latencies"),
    }
}

const FORMS: &str = "expected an instance, {player: {server: ms}} or a list of GameLift's";

/// The one list of GameLift's that an object wraps. A player may have the name of one.
fn list_of(object: &mut Map<String, Value>) -> Result<Option<Vec<Value>>> {
    let wraps = |key: &&str| object.get(*key).is_some_and(Value::is_array);
    let keys = ["Players", "PlayerLatencies", "players", "playerLatencies"];
    let found: Vec<&str> = keys.into_iter().filter(wraps).collect();
    let key = match found[..] {
        [] => return Ok(None),
        [key] => key,
        [one, other, ..] => bail!("`{one}` and `{other}` are both lists of players: give one"),
    };
    Ok(match object.remove(key) {
        Some(Value::Array(list)) => Some(list),
        _ => None,
    })
}

/// Objects inside an object are players with their latencies, unless it has a name of an instance's.
fn is_a_map(object: &Map<String, Value>) -> bool {
    let instance = ["clients", "servers", "server_server_ms", "delay_bound_ms"];
    let named = |key: &str| object.get(key).is_some_and(|value| !value.is_object());
    object.values().any(Value::is_object) && !instance.into_iter().any(named)
}

/// The one name that only instances have, near the start or the end.
fn looks_like_an_instance(bytes: &[u8]) -> bool {
    const NAME: &[u8] = b"\"client_server_ms\"";
    let near = 1 << 20;
    let head = &bytes[..bytes.len().min(near)];
    let tail = &bytes[bytes.len().saturating_sub(near)..];
    let has = |part: &[u8]| part.windows(NAME.len()).any(|window| window == NAME);
    has(head) || has(tail)
}

/// Players of either GameLift form; other fields (teams, attributes) do not matter here.
fn players(list: Vec<Value>) -> Result<Latencies> {
    let mut known = Known::default();
    for (index, value) in list.into_iter().enumerate() {
        let told = tell_player(&mut known, &value);
        told.with_context(|| format!("[{index}]"))?;
    }
    Ok(known.latencies())
}

fn tell_player(known: &mut Known, value: &Value) -> Result<()> {
    let field = |names: [&str; 2]| names.into_iter().find_map(|name| value.get(name));
    let word = |names| field(names).and_then(Value::as_str);
    let player = word(["PlayerId", "playerId"]);
    let latencies = field(["LatencyInMs", "latencyInMs"]).and_then(Value::as_object);
    let region = word(["RegionIdentifier", "regionIdentifier"]);
    let millis = field(["LatencyInMilliseconds", "latencyInMilliseconds"]);
    match (player, latencies, region, millis) {
        (Some(player), Some(latencies), _, _) => known.tell_row(player, latencies),
        (Some(player), None, Some(region), Some(millis)) => {
            known.is_not_complete(player)?;
            known.tell_value(player, region, millis)
        }
        _ => bail!(
            "expected PlayerId with LatencyInMs, or with RegionIdentifier and LatencyInMilliseconds"
        ),
    }
}

fn map(object: Map<String, Value>) -> Result<Latencies> {
    let mut known = Known::default();
    for (player, regions) in object {
        let Value::Object(regions) = regions else {
            bail!("`{player}`: expected {{server: ms}}");
        };
        known.tell_row(&player, &regions)?;
    }
    Ok(known.latencies())
}

/// What has been told so far, in the order of its coming.
#[derive(Default)]
struct Known {
    clients: Vec<String>,
    servers: Vec<String>,
    places: BTreeMap<String, usize>,
    columns: BTreeMap<String, usize>,
    /// Clients all of whose latencies have been told at once.
    complete: BTreeSet<String>,
    /// `None` where nothing was measured.
    cells: BTreeMap<(usize, usize), Option<f64>>,
}

impl Known {
    /// A client and all that it has measured, be it nothing.
    fn tell_row(&mut self, client: &str, latencies: &Map<String, Value>) -> Result<()> {
        let known = self.places.contains_key(client);
        ensure!(!known, "`{client}` is there twice");
        self.complete.insert(client.to_owned());
        place(&mut self.places, &mut self.clients, client);
        let mut cells = latencies.iter();
        cells.try_for_each(|(server, millis)| self.tell_value(client, server, millis))
    }

    /// Somebody with a list of all latencies has no others.
    fn is_not_complete(&self, client: &str) -> Result<()> {
        let complete = self.complete.contains(client);
        ensure!(!complete, "`{client}` is there twice");
        Ok(())
    }

    fn tell_value(&mut self, client: &str, server: &str, millis: &Value) -> Result<()> {
        let place = || format!("`{client}`, `{server}`: {millis} is not milliseconds");
        let number = match millis {
            Value::Null => None,
            _ => Some(millis.as_f64().with_context(place)?),
        };
        self.tell(client, server, number)
    }

    fn tell(&mut self, client: &str, server: &str, millis: Option<f64>) -> Result<()> {
        if let Some(millis) = millis.filter(|millis| !(0.0..=1e9).contains(millis)) {
            bail!("`{client}`, `{server}`: {millis} is not milliseconds from 0 to 1e9");
        }
        let row = place(&mut self.places, &mut self.clients, client);
        let column = place(&mut self.columns, &mut self.servers, server);
        if self.cells.insert((row, column), millis).is_some() {
            bail!("`{client}`, `{server}`: told twice");
        }
        Ok(())
    }

    fn latencies(self) -> Latencies {
        let cell = |row, column| self.cells.get(&(row, column)).copied().flatten();
        let row = |row| {
            (0..self.servers.len())
                .map(|column| cell(row, column))
                .collect()
        };
        Latencies {
            rows: (0..self.clients.len()).map(row).collect(),
            clients: self.clients,
            servers: self.servers,
        }
    }
}

fn place(places: &mut BTreeMap<String, usize>, names: &mut Vec<String>, name: &str) -> usize {
    *places.entry(name.to_owned()).or_insert_with(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn any_numbers_of_a_list_are_read_or_refused(ms in any::<f64>(), player in ".*") {
            let list = serde_json::json!([{ "PlayerId": player, "LatencyInMs": { "fra": ms } }]);
            let found = read(list.to_string().as_bytes());
            // JSON has no other word than null for what is no finite number.
            let good = !ms.is_finite() || (0.0..=1e9).contains(&ms);
            prop_assert_eq!(found.is_ok(), good);
        }
    }

    fn latencies(text: &str) -> Latencies {
        read(text.as_bytes()).unwrap().unwrap()
    }

    fn refusal(text: &str) -> String {
        format!("{:#}", read(text.as_bytes()).err().unwrap())
    }

    #[test]
    fn maps_of_players_and_regions() {
        let found =
            latencies(r#"{"anna": {"fra": 12, "iad": 90}, "bert": {"iad": 20.5, "fra": null}}"#);
        assert_eq!(found.clients, ["anna", "bert"]);
        assert_eq!(found.rows[1], [None, Some(20.5)]);
    }

    #[test]
    fn both_gamelift_forms() {
        let matchmaking = latencies(
            r#"{"Players": [{"PlayerId": "anna", "Team": "red", "LatencyInMs": {"fra": 12}}]}"#,
        );
        let placement = latencies(
            r#"[{"PlayerId": "anna", "RegionIdentifier": "fra", "LatencyInMilliseconds": 12}]"#,
        );
        assert_eq!(matchmaking.rows, placement.rows);
        assert_eq!(placement.servers, ["fra"]);
    }

    #[test]
    fn whoever_is_named_plays_also_without_a_latency() {
        for text in [
            r#"{"a": {"x": null}, "b": {"x": 1}}"#,
            r#"[{"PlayerId": "a", "LatencyInMs": {"x": null}}, {"PlayerId": "b", "LatencyInMs": {"x": 1}}]"#,
            r#"[{"PlayerId": "a", "LatencyInMs": {}}, {"PlayerId": "b", "LatencyInMs": {"x": 1}}]"#,
            r#"[{"PlayerId": "a", "RegionIdentifier": "x", "LatencyInMilliseconds": null},
                {"PlayerId": "b", "RegionIdentifier": "x", "LatencyInMilliseconds": 1}]"#,
            r#"{"a": {}, "b": {"x": 1}}"#,
        ] {
            let found = latencies(text);
            assert_eq!(found.clients, ["a", "b"], "{text}");
            assert_eq!(found.rows, [[None], [Some(1.0)]], "{text}");
        }
        let alone = latencies(r#"{"a": {"x": null}}"#);
        assert_eq!((alone.clients.len(), alone.servers.len()), (1, 1));
    }

    #[test]
    fn a_player_may_have_the_name_of_a_list_and_two_lists_are_refused() {
        let found = latencies(r#"{"Players": {"x": 5}, "b": {"x": 6}, "clients": {"x": 7}}"#);
        assert_eq!(found.clients.len(), 3);
        let both = refusal(
            r#"{"Players": [{"PlayerId": "a", "LatencyInMs": {"x": 1}}],
                "PlayerLatencies": [{"PlayerId": "q", "LatencyInMs": {"x": 1}}]}"#,
        );
        assert!(both.contains("`Players` and `PlayerLatencies`"), "{both}");
    }

    #[test]
    fn an_instance_is_left_to_its_own_reader() {
        assert!(
            read(br#"{"clients": [], "client_server_ms": []}"#)
                .unwrap()
                .is_none()
        );
        assert!(read(br#"{"clients": ["a"]}"#).unwrap().is_none());
    }

    #[test]
    fn who_is_there_twice_is_refused_also_with_other_regions() {
        for text in [
            r#"[{"PlayerId": "a", "LatencyInMs": {"x": 1}}, {"PlayerId": "a", "LatencyInMs": {"y": 2}}]"#,
            r#"[{"PlayerId": "a", "LatencyInMs": {}}, {"PlayerId": "a", "LatencyInMs": {}}]"#,
            r#"[{"PlayerId": "a", "LatencyInMs": {"x": 1}},
                {"PlayerId": "a", "RegionIdentifier": "y", "LatencyInMilliseconds": 2}]"#,
            r#"[{"PlayerId": "a", "RegionIdentifier": "y", "LatencyInMilliseconds": 2},
                {"PlayerId": "a", "LatencyInMs": {"x": 1}}]"#,
        ] {
            let twice = refusal(text);
            assert!(twice.contains("[1]: `a` is there twice"), "{twice}");
        }
        let regions = latencies(
            r#"[{"PlayerId": "a", "RegionIdentifier": "x", "LatencyInMilliseconds": 1},
                {"PlayerId": "a", "RegionIdentifier": "y", "LatencyInMilliseconds": 2}]"#,
        );
        assert_eq!(regions.rows, [[Some(1.0), Some(2.0)]]);
    }

    #[test]
    fn mistakes_are_named() {
        assert!(refusal("{").contains("not JSON"));
        assert!(refusal("7").contains("neither"));
        let listed = refusal(r#"[{"PlayerId": "anna", "LatencyInMs": {"fra": "fast"}}]"#);
        assert!(listed.contains("[0]: `anna`, `fra`: \"fast\""), "{listed}");
        let twice = refusal(r#"{"anna": {"fra": 1}, "bert": {"fra": 2}, "anna": {"iad": 3}}"#);
        assert!(twice.contains("`anna` is there twice"), "{twice}");
        assert!(refusal(r#"[{"PlayerId": "anna"}]"#).contains("[0]"));
        assert!(refusal(r#"{"anna": {"fra": "fast"}}"#).contains("`anna`, `fra`"));
        assert!(refusal("{}").contains("{player: {server: ms}}"));
        assert!(refusal(r#"{"a": {"x": 3}, "b": 7}"#).contains("`b`: expected"));
        assert!(refusal(r#"{"anna": {"fra": -1}}"#).contains("-1"));
        let twice = r#"[{"PlayerId": "a", "RegionIdentifier": "f", "LatencyInMilliseconds": 1},
            {"PlayerId": "a", "RegionIdentifier": "f", "LatencyInMilliseconds": 2}]"#;
        assert!(refusal(twice).contains("twice"));
    }
}
