//! Questions about instances: the answers, the limits, and those who do not wait.

use std::io::Write;
use std::time::Instant;

use serde_json::Value;

use super::common::{LONG, nearside};
use super::http;
use super::schema::check;
use super::server::{Server, wait_for};

fn example() -> String {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/place/four-players.json"
    );
    std::fs::read_to_string(path).unwrap()
}

/// Too large to be solved soon.
fn hard() -> String {
    let size = ["--servers", "300", "--clients", "1500", "--bound", "20"];
    nearside(&[&["place", "generate"], &size[..]].concat())
        .expect_code(0)
        .stdout
}

#[test]
fn answers_are_those_of_the_command_and_as_documented() {
    let server = Server::start(&[]);
    let document = server.document();
    let solved = server.post("/v1/solve", &example()).expect(200).json();
    check(&document, "Answer", &solved);
    assert_eq!(
        (&solved["status"], &solved["servers_used"]),
        (&"optimal".into(), &2.into())
    );
    let impossible = server
        .post("/v1/solve?bound_ms=40&solver=exact", &example())
        .expect(200)
        .json();
    check(&document, "Answer", &impossible);
    assert_eq!(impossible["status"], "infeasible");
    assert_eq!(
        impossible["impossible"]["move"].as_array().unwrap().len(),
        2
    );
    let curve = server.post("/v1/curve", &example()).expect(200).json();
    check(&document, "Curve", &curve);
    assert_eq!(curve["rows"].as_array().unwrap().len(), 2);
    let fastest = server
        .post("/v1/min-delay?servers=1", &example())
        .expect(200)
        .json();
    check(&document, "MinDelay", &fastest);
    assert_eq!(fastest["delay_ms"], 130.0);
    assert_eq!(fastest["status"], "optimal");
    let most = format!("/v1/min-delay?servers={}", u64::MAX);
    let fastest = server.post(&most, &example()).expect(200).json();
    assert_eq!(fastest["delay_ms"], 60.0);
    assert_eq!(server.metric("solves_total{status=\"optimal\"}"), 1.0);
}

#[test]
fn every_documented_operation_is_there() {
    let server = Server::start(&[]);
    let document = server.document();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| *key != "parameters")
        {
            let answer = server.ask(&method.to_uppercase(), &path.replace("{id}", "none"), "{}");
            let error = &answer.body;
            assert!(
                ![405, 500].contains(&answer.status),
                "{method} {path}: {error}"
            );
            assert!(!error.contains("nothing here"), "{method} {path}: {error}");
        }
    }
    assert_eq!(
        server.get("/v2").expect(404).json()["error"]
            .as_str()
            .map(str::is_empty),
        Some(false)
    );
    assert!(server.get("/v1/solve").expect(405).body.contains("openapi"));
}

#[test]
fn mistakes_are_named() {
    let server = Server::start(&["--max-body", "1"]);
    let error = |answer: http::Answer, status: u16| -> String {
        let json: Value = answer.expect(status).json();
        json["error"].as_str().unwrap().to_owned()
    };
    let cell = example().replace("[14, 64, 124]", "[14, -64, 124]");
    assert!(error(server.post("/v1/solve", &cell), 400).contains("client_server_ms[1][1]"));
    assert!(error(server.post("/v1/solve?solver=simplex", &example()), 400).contains("zizo"));
    assert!(error(server.post("/v1/solve?bound=3", &example()), 400).contains("bound"));
    assert!(error(server.post("/v1/solve?bound_ms=-3", &example()), 400).contains("bound_ms"));
    assert!(error(server.post("/v1/solve", "{"), 400).contains("EOF"));
    let large = " ".repeat(2 << 20);
    assert!(error(server.post("/v1/solve", &large), 413).contains("--max-body"));
}

#[test]
fn mistakes_are_told_without_types() {
    let server = Server::start(&[]);
    let setup = r#"{"delay_bound_ms": 9, "servers": [{"name": "a"}], "server_server_ms": [[0]]}"#;
    let session = server.session(setup);
    for (path, body, told) in [
        (
            "/v1/solve?bound_ms=x",
            "{}",
            "bound_ms: `x` is not milliseconds",
        ),
        (
            "/v1/solve?bound_ms=1&bound_ms=2",
            "{}",
            "bound_ms: it is there twice",
        ),
        (
            "/v1/solve?bound=3",
            "{}",
            "no parameter `bound` here, but bound_ms, solver",
        ),
        (
            "/v1/curve?steps=-1",
            "{}",
            "steps: `-1` is not a whole number",
        ),
        ("/v1/min-delay", "{}", "servers: at least one"),
        (
            "/v1/min-delay?servers=two",
            "{}",
            "servers: `two` is not a whole number",
        ),
        (
            &format!("{session}/consolidate"),
            r#"{"max_moves": -1}"#,
            "a whole number",
        ),
        (
            &format!("{session}/events"),
            r#"{"event": "bound", "ms": "x"}"#,
            "milliseconds",
        ),
    ] {
        let refused = server.post(path, body).expect(400).json();
        let error = refused["error"].as_str().unwrap();
        assert!(error.contains(told), "{path}: {error}");
    }
}

/// A sender who hears nothing while it sends would see a broken connection instead of the answer.
#[test]
fn who_is_refused_early_hears_why() {
    let server = Server::start(&["--max-body", "1"]);
    let body = vec![b' '; 9 << 20];
    for (method, path, headers, status) in [
        ("POST", "/v1/solve", "Origin: http://evil.example\r\n", 403),
        ("POST", "/v1/solve?bound=3", "", 400),
        ("POST", "/v1/solve", "", 413),
        ("PUT", "/v1/solve", "", 405),
        ("POST", "/v2", "", 404),
        ("POST", "/v1/sessions/none/join", "", 413),
    ] {
        let mut stream = http::connect(server.addr);
        let headers = format!("Content-Length: {}\r\n{headers}", body.len());
        http::send_head(&mut stream, method, path, &headers);
        let sent = stream.write_all(&body);
        assert!(sent.is_ok(), "{method} {path}: {sent:?}");
        let refused = http::receive(&mut stream).expect(status);
        assert!(refused.json()["error"].is_string(), "{}", refused.body);
    }
}

#[test]
fn a_deadline_ends_the_work_and_not_the_request() {
    let server = Server::start(&["--max-time", "0.5"]);
    let started = Instant::now();
    let solved = server
        .post("/v1/solve?time_s=60", &hard())
        .expect(200)
        .json();
    assert!(started.elapsed() < LONG / 2);
    assert!(["feasible", "out_of_budget"].contains(&solved["status"].as_str().unwrap()));
}

#[test]
fn who_goes_away_stops_the_solver_and_others_are_served_meanwhile() {
    let server = Server::start(&["--max-time", "80", "--solvers", "1"]);
    let mut stream = http::connect(server.addr);
    http::send(
        &mut stream,
        "POST",
        "/v1/solve?time_s=80",
        "",
        hard().as_bytes(),
    );
    wait_for("solve at work", || server.metric("solves_running") == 1.0);
    assert_eq!(server.get("/health").expect(200).body, "ok\n");
    drop(stream);
    wait_for("cancelled solve", || {
        server.metric("solves_cancelled_total") == 1.0
    });
    wait_for("idle solver", || server.metric("solves_running") == 0.0);
    server.post("/v1/solve", &example()).expect(200);
}

#[test]
fn more_than_can_wait_are_sent_away() {
    let server = Server::start(&["--max-time", "80", "--solvers", "1"]);
    let body = hard();
    // One at work and sixteen in the queue, which do not even send their instances.
    let waiting: Vec<_> = (0..17)
        .map(|number| {
            let mut stream = http::connect(server.addr);
            let body = if number == 0 { &body } else { "" };
            let length = body.len().max(9);
            let headers = format!("Content-Length: {length}\r\n");
            http::send_head(&mut stream, "POST", "/v1/solve?time_s=80", &headers);
            http::send_body(&mut stream, body.as_bytes());
            stream
        })
        .collect();
    wait_for("full queue", || server.metric("solves_admitted") == 17.0);
    let refused = server.post("/v1/solve", &" ".repeat(9 << 20)).expect(503);
    assert!(
        refused.head.to_lowercase().contains("retry-after"),
        "{}",
        refused.head
    );
    drop(waiting);
    wait_for("room", || {
        server.post("/v1/solve", &example()).status == 200
    });
}

#[test]
fn web_pages_are_not_answered() {
    let server = Server::start(&[]);
    let mut stream = http::connect(server.addr);
    http::send(
        &mut stream,
        "POST",
        "/v1/solve",
        "Origin: http://evil.example\r\n",
        example().as_bytes(),
    );
    http::receive(&mut stream).expect(403);
}

#[test]
fn a_name_that_somebody_made_point_here_is_not_answered() {
    let server = Server::start(&["--host", "games.lan"]);
    let ask = |host: &str| {
        let mut stream = http::connect(server.addr);
        let request =
            format!("GET /v1/sessions HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        http::receive(&mut stream)
    };
    for host in ["localhost:8787", "127.0.0.1", "[::1]:8787", "Games.LAN"] {
        ask(host).expect(200);
    }
    let refused = ask("rebound.example").expect(403);
    assert!(refused.body.contains("--host"), "{}", refused.body);
}

#[test]
fn ctrl_c_ends_work_answers_it_and_leaves() {
    let server = Server::start(&["--max-time", "80"]);
    let mut stream = http::connect(server.addr);
    http::send(
        &mut stream,
        "POST",
        "/v1/solve?time_s=80",
        "",
        hard().as_bytes(),
    );
    wait_for("solve at work", || server.metric("solves_running") == 1.0);
    let answer = std::thread::spawn(move || http::receive(&mut stream));
    server.interrupt().expect_code(130);
    assert!(
        answer.join().unwrap().expect(200).json()["seconds"]
            .as_f64()
            .unwrap()
            < 60.0
    );
}

#[test]
fn a_port_that_is_taken_is_the_worlds_fault() {
    let server = Server::start(&[]);
    let addr = server.addr.to_string();
    let flags = ["place", "serve", "--in-memory", "--listen", &addr];
    nearside(&flags).expect_code(3).expect_stderr("--listen");
}
