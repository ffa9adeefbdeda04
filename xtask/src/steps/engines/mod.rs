//! The engine boundary: pure crates name no runtime, keep clippy's guard, and every crate depends
//! on lower layers only. Clippy sees direct calls; this step sees what comes in by dependency.

mod bans;
mod layers;

use std::collections::BTreeSet;
use std::fmt;

use crate::failure::Failure;
use crate::process;
use crate::report::Outcome;
use crate::workspace::Workspace;
use layers::Layer;

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome, Failure> {
    let crates = workspace.crates()?;
    let mut breaches = Vec::new();
    for name in &crates {
        let tree = tree(workspace, name)?;
        let clippy = workspace.read(format!("crates/{name}/clippy.toml")).ok();
        breaches.extend(check(name, &dependencies(&tree), clippy.as_deref()));
    }
    if breaches.is_empty() {
        return Ok(Outcome::passed(format!("{} crates", crates.len())));
    }
    let list: Vec<String> = breaches.iter().map(Breach::to_string).collect();
    Err(Failure::new(
        format!("the engine boundary is broken\n  {}", list.join("\n  ")),
        "mend the crate, or change the tables in xtask/src/steps/engines with a reason",
    ))
}

/// The normal dependencies of a crate, for every platform: a ban must not hide behind a `cfg`.
/// Development dependencies are free, since tests may drive an engine with anything.
fn tree(workspace: &Workspace, name: &str) -> Result<String, Failure> {
    let all = ["--edges", "normal", "--prefix", "none", "--target", "all"];
    process::output(workspace.cargo(["tree", "--package", name]).args(all))
}

/// The names in `cargo tree --prefix none`: the first word of each line, once each.
fn dependencies(tree: &str) -> BTreeSet<&str> {
    tree.lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect()
}

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
enum Breach {
    NoLayer {
        name: String,
    },
    NotBelow {
        name: String,
        dependency: String,
    },
    Banned {
        name: String,
        dependency: String,
        reason: &'static str,
    },
    NoGuard {
        name: String,
    },
    Unguarded {
        name: String,
        call: &'static str,
    },
}

/// All rules for one crate. `clippy` is the text of its `clippy.toml`.
fn check(name: &str, dependencies: &BTreeSet<&str>, clippy: Option<&str>) -> Vec<Breach> {
    let Some(layer) = Layer::of(name) else {
        let name = name.to_owned();
        return vec![Breach::NoLayer { name }];
    };
    let mut breaches = upward(name, layer, dependencies);
    if layer.is_pure() {
        breaches.extend(banned(name, dependencies));
        breaches.extend(match clippy {
            Some(clippy) => unguarded(name, clippy),
            None => vec![Breach::NoGuard {
                name: name.to_owned(),
            }],
        });
    }
    breaches
}

fn upward(name: &str, layer: Layer, dependencies: &BTreeSet<&str>) -> Vec<Breach> {
    let ours = dependencies
        .iter()
        .filter(|dependency| **dependency != name);
    let higher = ours.filter(|dependency| Layer::of(dependency).is_some_and(|its| its >= layer));
    let breach = |dependency: &&str| Breach::NotBelow {
        name: name.to_owned(),
        dependency: (*dependency).to_owned(),
    };
    higher.map(breach).collect()
}

fn banned(name: &str, dependencies: &BTreeSet<&str>) -> Vec<Breach> {
    let excused = |krate: &str| {
        let mut excuses = bans::EXCUSED.iter();
        excuses.any(|(who, what)| *who == name && what.contains(&krate))
    };
    let found = bans::CRATES
        .iter()
        .filter(|(krate, _)| dependencies.contains(krate) && !excused(krate));
    let breach = |(krate, reason): &(&str, &'static str)| Breach::Banned {
        name: name.to_owned(),
        dependency: (*krate).to_owned(),
        reason,
    };
    found.map(breach).collect()
}

/// The calls that `clippy.toml` fails to disallow. A line that is commented out guards nothing.
fn unguarded(name: &str, clippy: &str) -> Vec<Breach> {
    let live: Vec<&str> = clippy
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .collect();
    let guards = |call: &str| {
        let quoted = format!("\"{call}\"");
        live.iter().any(|line| line.contains(&quoted))
    };
    let listed = live
        .iter()
        .any(|line| line.starts_with("disallowed-methods"));
    let open = bans::CALLS.iter().filter(|call| !(listed && guards(call)));
    let breach = |call: &&'static str| Breach::Unguarded {
        name: name.to_owned(),
        call,
    };
    open.map(breach).collect()
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLayer { name } => {
                write!(f, "{name} has no layer: add it to the table in layers.rs")
            }
            Self::NotBelow { name, dependency } => {
                write!(
                    f,
                    "{name} depends on {dependency}, which is not in a lower layer"
                )
            }
            Self::Banned {
                name,
                dependency,
                reason,
            } => write!(
                f,
                "{name} pulls in {dependency}, which {reason} \
                 (who brings it: `cargo tree -p {name} -i {dependency}`)"
            ),
            Self::NoGuard { name } => write!(
                f,
                "crates/{name} has no clippy.toml that disallows {}",
                bans::CALLS.join(", ")
            ),
            Self::Unguarded { name, call } => {
                write!(f, "crates/{name}/clippy.toml does not disallow {call}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARDED: &str = r#"
disallowed-methods = [
  { path = "std::time::Instant::now", reason = "told" },
  { path = "std::time::SystemTime::now", reason = "told" },
  { path = "std::thread::spawn", reason = "none" },
  { path = "std::net::UdpSocket::bind", reason = "none" },
]
"#;

    const GOOD_TREE: &str = "\
nearside-discover v0.1.0 (/somewhere/crates/nearside-discover)
nearside-types v0.1.0 (/somewhere/crates/nearside-types)
serde v1.0.229
nearside-wire v0.1.0 (/somewhere/crates/nearside-wire)
nearside-types v0.1.0 (/somewhere/crates/nearside-types) (*)
serde_derive v1.0.229 (proc-macro)
";

    fn breaches(name: &str, tree: &str, clippy: &str) -> Vec<Breach> {
        check(name, &dependencies(tree), Some(clippy))
    }

    #[test]
    fn a_pure_engine_breaks_nothing() {
        assert_eq!(breaches("nearside-discover", GOOD_TREE, GUARDED), []);
    }

    #[test]
    fn a_runtime_deep_in_the_tree_is_found() {
        let tree = format!("{GOOD_TREE}tokio v1.47.0\nmio v1.0.4\n");
        let found = breaches("nearside-discover", &tree, GUARDED);
        let names: Vec<String> = found.iter().map(Breach::to_string).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert!(
            names[0].starts_with("nearside-discover pulls in tokio"),
            "{names:?}"
        );
    }

    #[test]
    fn a_crate_that_only_sounds_like_a_banned_one_passes() {
        let tree = format!("{GOOD_TREE}tokio-like-name v1.0.0\nlibc-free v0.1.0\n");
        assert_eq!(breaches("nearside-discover", &tree, GUARDED), []);
    }

    #[test]
    fn a_shell_may_open_sockets() {
        let tree = "nearside-net v0.1.0\nnearside-types v0.1.0\nsocket2 v0.6.0\nlibc v0.2.1\n";
        assert_eq!(check("nearside-net", &dependencies(tree), None), []);
    }

    #[test]
    fn dependencies_upwards_and_sideways_are_found() {
        let tree = "nearside-wire v0.1.0\nnearside-world v0.1.0\n";
        let upwards = Breach::NotBelow {
            name: "nearside-wire".to_owned(),
            dependency: "nearside-world".to_owned(),
        };
        assert_eq!(breaches("nearside-wire", tree, GUARDED), [upwards]);
        let tree = "nearside-detour v0.1.0\nnearside-placement v0.1.0\n";
        assert_eq!(breaches("nearside-detour", tree, GUARDED).len(), 1);
    }

    #[test]
    fn a_new_crate_needs_a_layer() {
        let found = breaches("nearside-novel", "nearside-novel v0.1.0\n", GUARDED);
        assert!(matches!(&found[..], [Breach::NoLayer { .. }]), "{found:?}");
    }

    #[test]
    fn an_engine_without_a_guard_is_found() {
        let tree = dependencies(GOOD_TREE);
        let found = check("nearside-discover", &tree, None);
        assert!(matches!(&found[..], [Breach::NoGuard { .. }]), "{found:?}");
    }

    #[test]
    fn a_guard_that_is_commented_out_or_not_a_list_guards_nothing() {
        let commented = GUARDED.replace(
            "  { path = \"std::thread::spawn\"",
            "  # { path = \"std::thread::spawn\"",
        );
        let unguarded = Breach::Unguarded {
            name: "nearside-discover".to_owned(),
            call: "std::thread::spawn",
        };
        assert_eq!(
            breaches("nearside-discover", GOOD_TREE, &commented),
            [unguarded]
        );
        let renamed = GUARDED.replace("disallowed-methods", "disallowed-types");
        let found = breaches("nearside-discover", GOOD_TREE, &renamed);
        assert_eq!(found.len(), bans::CALLS.len());
    }

    #[test]
    fn every_crate_of_this_checkout_has_its_layer() {
        for name in Workspace::find().crates().unwrap() {
            assert!(Layer::of(&name).is_some(), "{name}");
        }
    }
}
