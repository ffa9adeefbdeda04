//! Latencies as matchmakers have them, in JSON:
//!
//! - `{player: {region: ms}}`
//! - GameLift matchmaking: `[{"PlayerId": "anna", "LatencyInMs": {"us-east-1": 31}}]`
//! - GameLift placement: `[{"PlayerId": "anna", "RegionIdentifier": "us-east-1",
//!   "LatencyInMilliseconds": 31}]`
//!
//! The lists may stand inside an object, as `Players` or `PlayerLatencies`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use super::Latencies;

/// `None` when the JSON is none of these forms.
pub(super) fn read(bytes: &[u8]) -> Result<Option<Latencies>> {
    // An instance may be large, and is read without a detour over values.
    if looks_like_an_instance(bytes) {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(bytes).context("not JSON")?;
    match value {
        Value::Array(list) => players(list).map(Some),
        Value::Object(mut object) => {
            for key in ["Players", "PlayerLatencies", "players", "playerLatencies"] {
                if let Some(Value::Array(list)) = object.remove(key) {
                    return players(list).map(Some);
                }
            }
            let nested = object.values().all(Value::is_object) && !object.is_empty();
            if nested {
                map(object).map(Some)
            } else {
                Ok(None)
            }
        }
        _ => bail!("neither an instance nor a list of latencies"),
    }
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

/// A player of either GameLift form; other fields (teams, attributes) do not matter here.
#[derive(Deserialize)]
#[serde(untagged)]
enum Player {
    Matchmaking {
        #[serde(rename = "PlayerId", alias = "playerId")]
        player: String,
        #[serde(rename = "LatencyInMs", alias = "latencyInMs")]
        latencies: BTreeMap<String, f64>,
    },
    Placement {
        #[serde(rename = "PlayerId", alias = "playerId")]
        player: String,
        #[serde(rename = "RegionIdentifier", alias = "regionIdentifier")]
        region: String,
        #[serde(rename = "LatencyInMilliseconds", alias = "latencyInMilliseconds")]
        millis: f64,
    },
}

fn players(list: Vec<Value>) -> Result<Latencies> {
    let mut known = Known::default();
    for (index, value) in list.into_iter().enumerate() {
        let player = serde_json::from_value(value).ok().with_context(|| {
            format!(
                "[{index}]: expected PlayerId with LatencyInMs, or with RegionIdentifier and \
LatencyInMilliseconds"
            )
        })?;
        match player {
            Player::Matchmaking { player, latencies } => {
                for (region, millis) in latencies {
                    known.tell(&player, &region, millis)?;
                }
            }
            Player::Placement {
                player,
                region,
                millis,
            } => known.tell(&player, &region, millis)?,
        }
    }
    Ok(known.latencies())
}

fn map(object: serde_json::Map<String, Value>) -> Result<Latencies> {
    let mut known = Known::default();
    for (player, regions) in object {
        let Value::Object(regions) = regions else {
            bail!("`{player}`: expected {{server: ms}}");
        };
        for (region, millis) in regions {
            match millis {
                Value::Null => {}
                millis => {
                    let number = millis.as_f64();
                    let number = number.with_context(|| {
                        format!("`{player}`, `{region}`: {millis} is not milliseconds")
                    })?;
                    known.tell(&player, &region, number)?;
                }
            }
        }
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
    cells: BTreeMap<(usize, usize), f64>,
}

impl Known {
    fn tell(&mut self, client: &str, server: &str, millis: f64) -> Result<()> {
        if !(0.0..=1e9).contains(&millis) {
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
        let cell = |row, column| self.cells.get(&(row, column)).copied();
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
            prop_assert_eq!(found.is_ok(), (0.0..=1e9).contains(&ms));
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
    fn an_instance_is_left_to_its_own_reader() {
        assert!(
            read(br#"{"clients": [], "client_server_ms": []}"#)
                .unwrap()
                .is_none()
        );
        assert!(read(br#"{"clients": ["a"]}"#).unwrap().is_none());
    }

    #[test]
    fn mistakes_are_named() {
        assert!(refusal("{").contains("not JSON"));
        assert!(refusal("7").contains("neither"));
        assert!(refusal(r#"[{"PlayerId": "anna"}]"#).contains("[0]"));
        assert!(refusal(r#"{"anna": {"fra": "fast"}}"#).contains("`anna`, `fra`"));
        assert!(refusal(r#"{"anna": {"fra": -1}}"#).contains("-1"));
        let twice = r#"[{"PlayerId": "a", "RegionIdentifier": "f", "LatencyInMilliseconds": 1},
            {"PlayerId": "a", "RegionIdentifier": "f", "LatencyInMilliseconds": 2}]"#;
        assert!(refusal(twice).contains("twice"));
    }
}
