//! Delays between servers for inputs that have none.

use anyhow::{Context, Result, bail};
use nearside_placement::{Delay, DelayMatrix};

use super::super::args::InputArgs;
use super::{bytes_of, name_of, table};

/// A row and a column for each of these servers.
pub(super) fn matrix(args: &InputArgs, servers: &[String]) -> Result<DelayMatrix> {
    if let Some(path) = &args.between {
        let bytes = bytes_of(path)?;
        return from_table(&bytes, servers).with_context(|| format!("in {}", name_of(path)));
    }
    let Some(apart) = args.between_ms.and_then(Delay::from_millis) else {
        bail!(
            "the input has no delays between servers: give --between FILE.csv or --between-ms MS"
        );
    };
    let number = servers.len();
    Ok(DelayMatrix::from_fn(number, number, |from, to| {
        if from == to { Delay::ZERO } else { apart }
    }))
}

/// A square table in any order of names; servers that the input does not have are left out.
fn from_table(bytes: &[u8], servers: &[String]) -> Result<DelayMatrix> {
    let known = table::read(bytes)?;
    let find = |names: &[String], server: &String, what: &str| {
        let place = names.iter().position(|name| name == server);
        place.with_context(|| format!("server `{server}` has no {what}"))
    };
    let mut rows = Vec::new();
    for from in servers {
        let row = find(&known.clients, from, "line")?;
        let cells = servers.iter().map(|to| {
            let column = find(&known.servers, to, "column")?;
            let millis = known.rows[row][column];
            match millis {
                _ if from != to => Ok(millis),
                None | Some(0.0) => Ok(Some(0.0)),
                Some(away) => {
                    bail!("server `{from}` is {away} ms from itself; write 0 or leave it empty")
                }
            }
        });
        rows.push(cells.collect::<Result<Vec<_>>>()?);
    }
    DelayMatrix::from_millis(rows).map_err(|error| anyhow::anyhow!("delays between servers{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn names_decide_and_not_the_order() {
        let text = b"from,iad,fra\nfra,88,0\niad,0,87\n";
        let matrix = from_table(text, &names(&["fra", "iad"])).unwrap();
        assert_eq!(matrix.get(0, 1).as_millis(), 88.0);
        assert_eq!(matrix.get(1, 0).as_millis(), 87.0);
    }

    #[test]
    fn nobody_is_away_from_itself() {
        let away = b"from,fra,iad\nfra,0,88\niad,87,5\n";
        let error = from_table(away, &names(&["fra", "iad"])).unwrap_err();
        assert!(
            error.to_string().contains("`iad` is 5 ms from itself"),
            "{error}"
        );
        let empty = b"from,fra,iad\nfra,,88\niad,87,-\n";
        let matrix = from_table(empty, &names(&["fra", "iad"])).unwrap();
        assert_eq!(matrix.get(1, 1), Delay::ZERO);
    }

    #[test]
    fn a_missing_server_is_named() {
        let text = b"from,fra\nfra,0\n";
        let error = from_table(text, &names(&["fra", "gru"])).unwrap_err();
        assert!(error.to_string().contains("`gru`"), "{error}");
    }
}
