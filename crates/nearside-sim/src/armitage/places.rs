//! Table 1 of the country paper: where its clients were, and what stands for them here.

use nearside_report::{Column, Part, Table};

use super::published::COUNTRY_ROWS;
use crate::experiment::{Crowd, Experiment, Name, Study};

/// Table 1.
pub(super) struct Places(pub(super) Name);

impl Experiment for Places {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "Country clusters, Table 1: location of the clients".to_owned()
    }

    fn parts(&self, _study: &Study) -> Vec<Part> {
        let caption = "The paper's hosts, and the places and rates that stand for them; nothing is \
                       measured here.";
        let mut table = Table::new("places", caption)
            .column(Column::new("client"))
            .column(Column::new("host").heading("host in the paper").published())
            .column(Column::new("place").heading("place here"))
            .column(Column::new("game"))
            .column(Column::new("rate").unit("probes/s"));
        for row in &COUNTRY_ROWS {
            let game = match row.client.crowd {
                Crowd::EnemyTerritory => "Enemy Territory",
                Crowd::Css | Crowd::CssFebruary => "CS:S",
            };
            table.push([
                row.client.label.into(),
                row.host.into(),
                row.client.place.into(),
                game.into(),
                (row.client.rate as u64).into(),
            ]);
        }
        vec![table.into()]
    }
}
