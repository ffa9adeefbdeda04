//! Every kind of part in one page, with data that look like those of the discovery papers.

use nearside_report::{
    Axis, Better, Cell, Chapter, Column, Data, Evidence, Figure, Heat, Layer, Page, Point, Report,
    Span, Table,
};

/// Servers of a full list, as many as the papers had.
const SERVERS: u32 = 27_000;
/// Probes in a second.
const PACE: f64 = 140.0;

/// The page that tests and the example `gallery` show.
pub(crate) fn page() -> Page {
    let discovery = Chapter {
        title: "Discovery".to_owned(),
        lead: vec!["Drawn from a formula, not from a world: only the looks count.".into()],
        reports: vec![table2(), re_ordered(), distributions()],
    };
    let trade_off = Chapter {
        title: "Trade-offs".to_owned(),
        lead: Vec::new(),
        reports: vec![heat_map(), sweep()],
    };
    Page {
        title: "Gallery of parts".to_owned(),
        lead: vec![
            "What a reader meets in a page made by `nearside sim all`:\n- tables\n- figures".into(),
            claims().into(),
        ],
        chapters: vec![discovery, trade_off],
        footer: "Made by the example `gallery` of nearside-report.".to_owned(),
        data: Data::Absent,
    }
}

/// Probes in the order of their clusters, the running bound and the stop, as in Figures 5 to 7.
pub(crate) fn re_ordered() -> Report {
    let probes = (0..SERVERS).map(|place| {
        let share = f64::from(place) / f64::from(SERVERS);
        let rtt = 20.0 + 330.0 * share.powf(0.7) + 90.0 * noise(place) * (0.2 + share);
        Point::from((f64::from(place) / PACE, rtt))
    });
    let bottom = (0..190).map(|second| {
        let share = f64::from(second) / 193.0;
        Point::from((f64::from(second), 12.0 + 300.0 * share.powf(0.8)))
    });
    let (x, y) = (Axis::linear("time (s)"), Axis::linear("RTT (ms)"));
    let figure = Figure::chart("re-ordered", "RTT against time, probes re-ordered.", x, y)
        .layer(Layer::points("probes", probes))
        .layer(Layer::line("RTT_bottom", bottom))
        .layer(Layer::horizontal("RTT_stop 180 ms", 180.0))
        .layer(Layer::vertical("auto-stop at 88.2 s", 88.2))
        .evidence(Evidence::NotFitted);
    report("figure5", "Figure 5: re-ordered probes, Australia").with(figure)
}

fn distributions() -> Report {
    let (x, y) = (
        Axis::log("RTT (ms)"),
        Axis::linear("servers (%)").range(0.0, 100.0),
    );
    let clients = ["AU", "DE", "JP", "TW", "UK", "USA"];
    let figure = Figure::chart("cdf", "CDF of RTT from six clients.", x, y);
    let figure = (0..6).zip(clients).fold(figure, |figure, (at, client)| {
        let rtts = (0..5_000).map(|place| {
            let spread = noise(place + at * 7_919);
            (30.0 + 45.0 * f64::from(at)) * (0.4 + 1.6 * spread * spread)
        });
        figure.layer(Layer::distribution(client, &rtts.collect::<Vec<_>>()))
    });
    report("figure4", "Figure 4: distribution of RTTs").with(figure.evidence(Evidence::NotFitted))
}

fn sweep() -> Report {
    let windows = [10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
    let value = |w: f64, rank: f64| 12.0 + rank * 3.0 + 22.0 / w.sqrt();
    let line = |rank: f64| windows.map(|w| Point::from((w, value(w, rank))));
    let band = windows.map(|w| Span {
        x: w,
        low: value(w, 0.0) - 1.6,
        high: value(w, 0.0) + 1.6,
    });
    let (x, y) = (
        Axis::log("window W (probes)"),
        Axis::linear("probes (% of a full scan)"),
    );
    let figure = Figure::chart(
        "window",
        "Probes against W; the band is one deviation.",
        x,
        y,
    )
    .layer(Layer::band("adaptive", band))
    .layer(Layer::line("adaptive", line(0.0)))
    .layer(Layer::line("AS clusters", line(1.0)))
    .layer(Layer::points("AS clusters", line(1.0)))
    .layer(Layer::steps("country + /8", line(1.8)))
    .layer(Layer::horizontal("oracle", 4.0));
    report("sweep", "Sweep of the window").with(figure)
}

fn heat_map() -> Report {
    let columns: Vec<String> = (12..=24).step_by(2).map(|n| format!("/{n}")).collect();
    let rows: Vec<String> = ["1", "2", "5 %", "10 %", "log n", "√n"]
        .map(str::to_owned)
        .into();
    let row = |y: u32| {
        let cell = move |x: u32| match (x, y) {
            (6, 5) => f64::NAN,
            _ => 11.0 + f64::from(x * x) * 0.7 + f64::from((4 - y.min(4)).pow(2)) * 1.9,
        };
        (0..7).map(cell).collect()
    };
    let heat = Heat {
        x: "split prefix".to_owned(),
        y: "samples of a cluster".to_owned(),
        value: "probes at the stop (% of a full scan)".to_owned(),
        columns,
        rows,
        values: (0..6).map(row).collect(),
        decimals: 1,
    };
    report("heat", "Prefix and sample").with(Figure::heat("heat", "Australia, AS clusters.", heat))
}

fn table2() -> Report {
    let table = Table::new("table2", "Calibration probes and auto-stop, CS:S.")
        .column(Column::new("client"))
        .column(
            Column::new("paper_probes")
                .heading("calibration probes")
                .published(),
        )
        .column(Column::new("probes").heading("calibration probes").fitted())
        .column(
            Column::new("paper_stop")
                .heading("auto-stop")
                .unit("%")
                .published(),
        )
        .column(
            Column::new("stop")
                .heading("auto-stop")
                .unit("%")
                .not_fitted(),
        )
        .column(
            Column::new("baseline")
                .heading("conventional")
                .unit("%")
                .not_fitted(),
        )
        .column(Column::new("oracle").unit("%").not_fitted())
        .row(table2_row("AU", 3_374, 14.8))
        .row(table2_row("JP", 3_206, 31.3))
        .row(table2_row("USA", 3_190, 99.1));
    report("table2", "Table 2: calibration and auto-stop").with(table)
}

fn table2_row(client: &str, probes: u32, stop: f64) -> [Cell; 7] {
    let near = |value: f64| [0.97, 1.0, 1.01, 0.99].map(|factor| factor * value);
    [
        client.into(),
        u64::from(probes).into(),
        Cell::spread(&near(f64::from(probes)), Better::Low, 0),
        Cell::number(stop, 1),
        Cell::spread(&near(stop), Better::Low, 1),
        Cell::number(100.0, 1),
        if client == "USA" {
            Cell::Missing
        } else {
            Cell::number(stop * 0.4, 1)
        },
    ]
}

fn claims() -> Table {
    Table::new("claims", "Claims of the papers.")
        .column(Column::new("claim"))
        .column(Column::new("holds"))
        .column(Column::new("because"))
        .row([
            "AS clusters need fewer probes than country clusters".into(),
            "no".into(),
            "15.8 % against 15.2 % at equal recall from Australia".into(),
        ])
        .row([
            "Auto-stop saves time far from most servers".into(),
            "yes".into(),
            "AU, JP and TW stop before a third of the list".into(),
        ])
}

fn report(name: &str, title: &str) -> Report {
    let command = format!("nearside sim gallery {name} --seeds 1000-1015");
    Report::new(name, title, command, "1000–1015 (reporting)")
}

/// A number from 0 to 1 without a pattern that one sees.
fn noise(place: u32) -> f64 {
    let mixed = place.wrapping_mul(2_654_435_761);
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(2_246_822_519);
    f64::from(mixed ^ (mixed >> 13)) / f64::from(u32::MAX)
}
