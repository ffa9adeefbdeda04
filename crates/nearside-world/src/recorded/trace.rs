//! Traces: CSV with the header `time_s,src,dst,rtt_ms`, one measurement in a line. An empty RTT was
//! lost.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::time::Duration;

use nearside_types::{LatencyMatrix, Rtt, median};

use super::{
    LineFile, MAX_NODES, MAX_SAMPLES, RecordedError, RecordedFault, field_fault, parse_millis,
};

const HEADER: &str = "time_s,src,dst,rtt_ms";

/// Measurements between named nodes, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// The names, in the order they first appear; samples name a node by its place here.
    pub nodes: Vec<String>,
    /// The measurements.
    pub samples: Vec<TraceSample>,
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceSample {
    /// When, counted from the trace's own beginning of time.
    pub at: Duration,
    /// Who measured.
    pub from: usize,
    /// To whom.
    pub to: usize,
    /// The RTT; `None` if there was no answer.
    pub rtt: Option<Rtt>,
}

impl Trace {
    /// Reads a trace; `label` names the file in errors, gzip is recognised.
    ///
    /// # Errors
    /// At the first line that is no measurement, with line, column and reason.
    pub fn read(label: &str, source: impl Read) -> Result<Self, RecordedError> {
        Self::read_renamed(label, source, |_| None)
    }

    /// The same with other names, `None` for the same: what gets one name is one node. The limit of nodes is that of new
    /// names, so a trace of however many addresses can be read as one of their subnets.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_renamed(
        label: &str,
        source: impl Read,
        rename: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, RecordedError> {
        let mut file = LineFile::open(label, source, ',')?;
        file.expect_header(HEADER, ',')?;
        let mut trace = Self::default();
        let mut numbers = HashMap::new();
        while let Some(mut fields) = file.next_array()? {
            for name in &mut fields[1..3] {
                // An empty name is a fault, whatever it would be called.
                if !name.is_empty()
                    && let Some(other) = rename(name)
                {
                    *name = other;
                }
            }
            let sample = trace.sample(&fields, &mut numbers);
            let sample = sample.map_err(|fault| file.error(fault))?;
            trace.samples.push(sample);
        }
        Ok(trace)
    }

    fn sample(
        &mut self,
        [time, from, to, rtt]: &[String; 4],
        numbers: &mut HashMap<String, usize>,
    ) -> Result<TraceSample, RecordedFault> {
        if self.samples.len() == MAX_SAMPLES {
            let (what, max) = ("measurements", MAX_SAMPLES);
            return Err(RecordedFault::TooMany { what, max });
        }
        let seconds = time.parse().ok();
        let at = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Ok(TraceSample {
            at: at.ok_or_else(|| field_fault(&"time_s", time, "a number of seconds from 0 up"))?,
            from: self.node("src", from, numbers)?,
            to: self.node("dst", to, numbers)?,
            rtt: match rtt.as_str() {
                "" => None,
                text => Some(parse_millis(text).ok_or_else(|| {
                    field_fault(&"rtt_ms", text, "a time from 0 to 60000 ms, or empty")
                })?),
            },
        })
    }

    fn node(
        &mut self,
        column: &str,
        name: &str,
        numbers: &mut HashMap<String, usize>,
    ) -> Result<usize, RecordedFault> {
        if name.is_empty() {
            return Err(field_fault(&column, name, "the name of a node"));
        }
        if let Some(&number) = numbers.get(name) {
            return Ok(number);
        }
        let number = self.nodes.len();
        if number == MAX_NODES {
            let (what, max) = ("nodes", MAX_NODES);
            return Err(RecordedFault::TooMany { what, max });
        }
        self.nodes.push(name.to_owned());
        numbers.insert(name.to_owned(), number);
        Ok(number)
    }

    /// The median of each pair's answered measurements that took at least `shortest`. Ly et al.
    /// drop what is below 1 ms when they import a trace (section 6.1): such nodes share a machine.
    pub fn medians(&self, shortest: Rtt) -> LatencyMatrix {
        let mut pairs: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for sample in &self.samples {
            if let Some(rtt) = sample.rtt.filter(|&rtt| rtt >= shortest) {
                let pair = pairs.entry((sample.from, sample.to)).or_default();
                pair.push(rtt.as_millis_f64());
            }
        }
        let mut matrix = LatencyMatrix::unknown(self.nodes.len());
        for ((from, to), mut millis) in pairs {
            millis.sort_by(f64::total_cmp);
            if from != to {
                matrix.set(from, to, median(&millis).map(Rtt::from_millis_f64));
            }
        }
        matrix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rows: &str) -> Trace {
        Trace::read("t.csv", format!("{HEADER}\n{rows}").as_bytes()).unwrap()
    }

    #[test]
    fn nodes_are_numbered_as_they_appear_and_lost_probes_are_kept() {
        let trace = read("0.5,b,a,12.25\n1,a,c,\n");
        assert_eq!(trace.nodes, ["b", "a", "c"]);
        let [first, second] = trace.samples[..] else {
            panic!("two samples");
        };
        assert_eq!(first.at, Duration::from_millis(500));
        assert_eq!((first.from, first.to), (0, 1));
        assert_eq!(first.rtt, Some(Rtt::from_micros(12_250)));
        assert_eq!((second.to, second.rtt), (2, None));
    }

    #[test]
    fn several_samples_of_a_pair_give_their_median() {
        let trace = read("0,a,b,10\n1,a,b,0.2\n2,a,b,30\n3,a,b,14\n4,b,a,\n5,a,a,3");
        let matrix = trace.medians(Rtt::from_micros(1000));
        assert_eq!(matrix.rtt(0, 1), Some(Rtt::from_micros(14_000)));
        assert_eq!(matrix.rtt(1, 0), None);
        assert_eq!(matrix.rtt(0, 0), Some(Rtt::from_micros(0)));
        assert_eq!(
            trace.medians(Rtt::default()).rtt(0, 1),
            Some(Rtt::from_micros(12_000))
        );
    }

    #[test]
    fn a_trace_of_too_many_nodes_is_refused_unless_they_get_few_names() {
        let mut text = format!("{HEADER}\n");
        for number in 0..=MAX_NODES {
            text += &format!("0,a{number},b,12\n");
        }
        let error = Trace::read("t.csv", text.as_bytes()).unwrap_err();
        assert!(
            error.to_string().contains("more than 8192 nodes"),
            "{error}"
        );
        let initial = |name: &str| Some(name[..1].to_owned());
        let trace = Trace::read_renamed("t.csv", text.as_bytes(), initial).unwrap();
        assert_eq!(trace.nodes, ["a", "b"]);
        assert_eq!(trace.samples.len(), MAX_NODES + 1);
    }

    #[test]
    fn errors_name_line_and_column() {
        for (text, expected) in [
            (
                "time,src,dst,rtt\n",
                "t.csv, line 1: the header must be `time_s,src,dst,rtt_ms`",
            ),
            ("", "line 1: the header"),
            ("time_s,src,dst,rtt_ms\n0,a,b", "line 2: 3 fields where 4"),
            (
                "time_s,src,dst,rtt_ms\n-1,a,b,1",
                "line 2: column time_s: `-1`",
            ),
            ("time_s,src,dst,rtt_ms\n0,,b,1", "column src"),
            (
                "time_s,src,dst,rtt_ms\n0,a,b,1\n0,a,b,1e9",
                "line 3: column rtt_ms: `1e9`",
            ),
        ] {
            let error = Trace::read("t.csv", text.as_bytes())
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "`{text}` gave: {error}");
        }
    }
}
