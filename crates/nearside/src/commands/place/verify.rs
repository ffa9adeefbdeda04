//! `nearside place verify`: the judge, on an allocation from anywhere.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use nearside_placement::{
    Allocation, Breach, ClientId, Delay, Instance, ServerId, Verdict, verify,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::args::VerifyArgs;
use super::{input, show};
use crate::exit::Exit;

pub(super) fn run(args: &VerifyArgs) -> Result<Exit> {
    let (instance, seats) = files(args)?;
    let file = input::read_from(&args.input, instance, args.seed)?;
    let name = input::name_of(seats);
    let bytes = input::bytes_of(seats)?;
    let (assignment, its_bound) = seats_of(&bytes).with_context(|| {
        format!("in {name}: expected the JSON of `solve`, or just {{player: server}}")
    })?;
    let allocation =
        allocation(&file.instance, &assignment).with_context(|| format!("in {name}"))?;
    let bound = match args.bound.or(its_bound) {
        Some(millis) => {
            Delay::from_millis(millis).with_context(|| format!("{millis} is not a bound"))?
        }
        None => input::bound(None, &file)?,
    };
    let verdict = verify(&file.instance, &allocation, bound)?;
    let report = Report::new(&file.instance, &verdict, bound);
    show::print(&if args.json {
        show::json(&report)?
    } else {
        report.in_words()
    })?;
    Ok(if verdict.is_good() {
        Exit::Done
    } else {
        Exit::Negative
    })
}

/// Which file is which: a matrix takes the place of the first.
fn files(args: &VerifyArgs) -> Result<(Option<&Path>, &Path)> {
    let first = args.input.file.as_deref();
    let standard_input = Some(Path::new("-"));
    ensure!(
        first != standard_input || args.allocation.as_deref() != standard_input,
        "standard input holds one of the two, the instance or the allocation; name a file for the other"
    );
    match (&args.input.matrix, first, args.allocation.as_deref()) {
        (None, instance, Some(seats)) => Ok((instance, seats)),
        (Some(_), Some(seats), None) => Ok((None, seats)),
        (Some(_), Some(_), Some(_)) => bail!("name an instance file or a matrix, not both"),
        _ => bail!("name the file of the allocation"),
    }
}

/// Who is where and within which bound, from the JSON of `solve` or from a plain map of names.
fn seats_of(bytes: &[u8]) -> Result<(BTreeMap<String, String>, Option<f64>)> {
    let value = input::strict::read(bytes)?;
    let object = value.as_object().context("it is no object")?;
    // A plain map may have a player of any name, but none of them is at an object or nowhere.
    let answer = object.get("assignment").filter(|seats| !seats.is_string());
    let Some(answer) = answer else {
        return Ok((servers_of(object)?, None));
    };
    let bound = match object.get("bound_ms") {
        None | Some(Value::Null) => None,
        Some(bound) => Some(
            bound
                .as_f64()
                .with_context(|| format!("bound_ms: {bound} is not milliseconds"))?,
        ),
    };
    match answer {
        Value::Object(seats) => Ok((servers_of(seats).context("assignment")?, bound)),
        Value::Null => bail!("it has no assignment: the bound was not met"),
        other => bail!("assignment: {other} is not {{player: server}}"),
    }
}

fn servers_of(seats: &Map<String, Value>) -> Result<BTreeMap<String, String>> {
    let seat = |(player, server): (&String, &Value)| {
        let name = server.as_str();
        let name = name.with_context(|| format!("`{player}`: {server} is not a server's name"))?;
        Ok((player.clone(), name.to_owned()))
    };
    seats.iter().map(seat).collect()
}

fn allocation(instance: &Instance, assignment: &BTreeMap<String, String>) -> Result<Allocation> {
    let servers = instance.servers_by_name();
    let contact = |client: ClientId| -> Result<ServerId> {
        let name = instance.client_name(client);
        let server = assignment
            .get(name)
            .with_context(|| format!("client `{name}` has no server"))?;
        let known = servers.get(server.as_str()).copied();
        known.with_context(|| format!("client `{name}` is at `{server}`, which is no server"))
    };
    let clients = instance.clients_by_name();
    let stranger = assignment
        .keys()
        .find(|name| !clients.contains_key(name.as_str()));
    ensure!(
        stranger.is_none(),
        "`{}` is no client of the instance",
        stranger.map_or("", String::as_str)
    );
    let contacts: Vec<ServerId> = instance.client_ids().map(contact).collect::<Result<_>>()?;
    Ok(Allocation::new(contacts))
}

#[derive(Serialize)]
struct Report {
    good: bool,
    delay_ms: Delay,
    bound_ms: Delay,
    servers_used: usize,
    critical_path: [String; 4],
    loads: BTreeMap<String, usize>,
    breaches: Vec<String>,
}

impl Report {
    fn new(instance: &Instance, verdict: &Verdict, bound: Delay) -> Self {
        let path = verdict.critical;
        let loads = instance
            .server_ids()
            .zip(&verdict.loads)
            .filter(|(_, load)| **load > 0);
        Self {
            good: verdict.is_good(),
            delay_ms: verdict.delay,
            bound_ms: bound,
            servers_used: verdict.servers_used,
            critical_path: [
                instance.client_name(path.from).to_owned(),
                instance.server_name(path.entry).to_owned(),
                instance.server_name(path.exit).to_owned(),
                instance.client_name(path.to).to_owned(),
            ],
            loads: loads
                .map(|(server, &load)| (instance.server_name(server).to_owned(), load))
                .collect(),
            breaches: verdict
                .breaches
                .iter()
                .filter(|breach| !says_nothing_new(breach))
                .map(|breach| by_name(instance, breach))
                .collect(),
        }
    }

    fn in_words(&self) -> String {
        let verdict = if self.good { "Good" } else { "Not good" };
        let mut text = format!(
            "{verdict}: {}, {}.\nSlowest path: {}.\n",
            show::servers(self.servers_used),
            show::taken_of(self.delay_ms, self.bound_ms),
            self.critical_path.join(" > "),
        );
        for breach in &self.breaches {
            text += &format!("- {breach}\n");
        }
        text
    }
}

/// Where there is no path the delay is above any bound; which path is missing is said.
fn says_nothing_new(breach: &Breach) -> bool {
    matches!(breach, Breach::TooSlow { delay, .. } if !delay.is_usable())
}

/// A breach with names instead of ids.
fn by_name(instance: &Instance, breach: &Breach) -> String {
    let client = |id: &ClientId| instance.client_name(*id);
    let server = |id: &ServerId| instance.server_name(*id);
    match breach {
        Breach::TooSlow { .. } => breach.to_string(),
        Breach::NoAccess {
            client: c,
            server: s,
        } => {
            format!("client `{}` cannot reach server `{}`", client(c), server(s))
        }
        Breach::NoPath { from, to } => {
            format!(
                "there is no path from server `{}` to server `{}`",
                server(from),
                server(to)
            )
        }
        Breach::Overloaded {
            server: s,
            load,
            places,
        } => {
            format!(
                "server `{}` has {load} clients and {places} places",
                server(s)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        format!("{:#}", seats_of(text.as_bytes()).unwrap_err())
    }

    #[test]
    fn answers_and_plain_maps_are_both_read() {
        let (seats, bound) =
            seats_of(br#"{"assignment": {"anna": "fra"}, "bound_ms": 60}"#).unwrap();
        assert_eq!((seats["anna"].as_str(), bound), ("fra", Some(60.0)));
        let (seats, bound) = seats_of(br#"{"assignment": "fra", "anna": "iad"}"#).unwrap();
        assert_eq!((seats.len(), bound), (2, None));
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(refusal("[]").contains("no object"));
        assert!(refusal(r#"{"anna": 7}"#).contains("`anna`: 7 is not"));
        assert!(refusal(r#"{"anna": "a", "anna": "b"}"#).contains("`anna` is there twice"));
        let unmet = refusal(r#"{"assignment": null, "bound_ms": 60}"#);
        assert!(unmet.contains("not met"), "{unmet}");
        let bound = refusal(r#"{"assignment": {}, "bound_ms": "x"}"#);
        assert!(bound.contains("bound_ms: \"x\""), "{bound}");
    }
}
