use crate::seeds::Seeds;

/// How large experiments are, and on which seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The instances.
    pub seeds: Seeds,
    /// The size of the worlds.
    pub size: Size,
}

/// How large the worlds are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// As published.
    Full,
    /// A tenth of the CS:S servers, a quarter of a session: shows that everything works, proves nothing.
    Quick,
}

impl Setup {
    /// The seeds when nobody says otherwise: those for reporting, or two of development in a quick
    /// run, which nobody reports.
    pub fn usual_seeds(size: Size) -> Seeds {
        match size {
            Size::Full => Seeds::reporting(),
            Size::Quick => "0-1".parse().expect("a range of seeds"),
        }
    }

    /// Whether runs of this kind can decide anything: worlds of full size, and as many seeds as a
    /// sign test needs.
    pub fn is_evidence(&self) -> bool {
        self.size == Size::Full && self.seeds.as_slice().len() >= 6
    }

    /// The command line that makes an experiment again.
    pub fn command(&self, words: &str) -> String {
        let quick = match self.size {
            Size::Full => "",
            Size::Quick => " --quick",
        };
        format!("nearside sim {words} --seeds {}{quick}", self.seeds)
    }

    /// The seeds and what they are for (docs/evaluation.md: 0–19 to develop, 20–39 to choose
    /// parameters, 1000 and up to report).
    pub fn seeds_in_words(&self) -> String {
        let all = |from: u64, to: u64| {
            let seeds = self.seeds.as_slice().iter();
            seeds.copied().all(|seed| (from..to).contains(&seed))
        };
        let purpose = match () {
            () if all(0, 20) => " (development)",
            () if all(20, 40) => " (choice of parameters)",
            () if all(1000, u64::MAX) => " (reporting: nothing was tuned on them)",
            () => "",
        };
        let size = match self.size {
            Size::Full => "",
            Size::Quick => "; quick: small worlds, no evidence",
        };
        format!("{}{purpose}{size}", self.seeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_says_what_was_run() {
        let setup = |seeds: &str, size| Setup {
            seeds: seeds.parse().unwrap(),
            size,
        };
        let full = setup("1000-1015", Size::Full);
        assert_eq!(
            full.command("armitage-as table2"),
            "nearside sim armitage-as table2 --seeds 1000-1015"
        );
        assert!(full.seeds_in_words().contains("reporting"));
        let quick = setup("0,3", Size::Quick);
        assert!(quick.command("x y").ends_with("--seeds 0,3 --quick"));
        assert!(quick.seeds_in_words().contains("no evidence"));
        assert_eq!(setup("0,1000", Size::Full).seeds_in_words(), "0,1000");
        assert!(full.is_evidence());
        assert!(
            !setup("0-4", Size::Full).is_evidence(),
            "five seeds decide nothing"
        );
        assert!(
            !setup("0-15", Size::Quick).is_evidence(),
            "nor do small worlds"
        );
    }
}
