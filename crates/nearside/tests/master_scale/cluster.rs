//! A real Redis Cluster: three primaries and three replicas on loopback.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::Folder;
use crate::common::foreign::program;
use crate::common::web::wait_for;

/// The cluster; its nodes are killed when dropped.
pub(crate) struct Cluster {
    nodes: Vec<(u16, Child)>,
}

impl Cluster {
    /// Starts six nodes; `None` if the test may do without Redis, which is said.
    pub(crate) fn start(test: &str, folder: &Folder) -> Option<Self> {
        let mut nodes = Vec::new();
        for _ in 0..6 {
            nodes.push(start_node(test, folder)?);
        }
        let cluster = Self { nodes };
        cluster.join(test);
        Some(cluster)
    }

    fn join(&self, test: &str) {
        for node in self.addresses() {
            wait_for("a Redis that answers", || TcpStream::connect(&node).is_ok());
        }
        let mut cli = program(test, "redis", "redis-cli").expect("comes with redis-server");
        cli.0.args(["--cluster", "create"]);
        cli.0.args(self.addresses());
        cli.0.args(["--cluster-replicas", "1", "--cluster-yes"]);
        let finished = cli.finish(b"", Duration::from_secs(60));
        assert!(
            finished.stdout.contains("All 16384 slots covered"),
            "{finished}"
        );
        let began = Instant::now();
        while !self.info(test).contains("cluster_state:ok") {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{}",
                self.info(test)
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn info(&self, test: &str) -> String {
        let mut cli = program(test, "redis", "redis-cli").expect("comes with redis-server");
        let port = self.nodes[0].0.to_string();
        cli.0.args(["-p", &port, "cluster", "info"]);
        cli.finish(b"", Duration::from_secs(10)).stdout
    }

    pub(crate) fn addresses(&self) -> Vec<String> {
        let ports = self.nodes.iter().map(|(port, _)| port);
        ports.map(|port| format!("127.0.0.1:{port}")).collect()
    }

    /// `kill -9` of the first node, which the cluster was created with as a primary.
    pub(crate) fn kill_a_primary(&mut self) {
        let (_, mut node) = self.nodes.remove(0);
        node.kill().unwrap();
        node.wait().unwrap();
    }

    /// Stops all nodes where they are: connections stay open and nobody answers.
    pub(crate) fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        for (_, node) in &self.nodes {
            kill_process(Pid::from_child(node), signal).unwrap();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (_, node) in &mut self.nodes {
            let _ended = node.kill();
            let _ended = node.wait();
        }
    }
}

fn start_node(test: &str, folder: &Folder) -> Option<(u16, Child)> {
    let mut server = program(test, "redis", "redis-server")?;
    let (port, bus) = (free_port(), free_port());
    let (port_text, bus_text) = (port.to_string(), bus.to_string());
    let file = format!("nodes-{port}.conf");
    let node = folder.path().join(format!("node-{port}"));
    std::fs::create_dir_all(&node).unwrap();
    server
        .0
        .args(["--port", &port_text, "--cluster-port", &bus_text]);
    server
        .0
        .args(["--bind", "127.0.0.1", "--cluster-enabled", "yes"]);
    server.0.args([
        "--cluster-node-timeout",
        "3000",
        "--cluster-config-file",
        &file,
    ]);
    server.0.args(["--save", "", "--appendonly", "no", "--dir"]);
    server.0.arg(&node);
    let child = server.0.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    Some((port, child.unwrap()))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
