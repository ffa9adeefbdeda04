//! Who announces which addresses, and in which country: the pages that populations are drawn from.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;
use std::sync::LazyLock;

use nearside_origin::compact;
use nearside_types::{AddrClass, Asn, Country, Origin};

/// The first two octets of a /16.
pub(crate) type Block = [u8; 2];

/// Every IPv4 network of a table of origins that has both an AS and a country, by country, AS and
/// /16. Addresses drawn from it have the origin that a look-up in that table gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressBook {
    countries: BTreeMap<Country, CountryPages>,
    /// The countries of each AS.
    homes: BTreeMap<Asn, Vec<Country>>,
    /// First and last address of each network inside one /16; pages name a range of these.
    spans: Vec<(u32, u32)>,
}

/// What is announced in one country.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CountryPages {
    /// In the order of their numbers.
    pub(crate) ases: Vec<AsPage>,
    /// Every /16 with every AS that has a page for it, by place in `ases`; in rising order.
    pub(crate) by_block: Vec<(Block, usize)>,
}

/// What one AS announces in one country.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AsPage {
    pub(crate) asn: Asn,
    /// In rising order.
    pub(crate) blocks: Vec<BlockPage>,
}

/// What it announces there in one /16.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockPage {
    pub(crate) block: Block,
    spans: Range<usize>,
    addresses: u32,
}

/// Where an AS has fewer addresses of a /16 no servers are put, if the country has other networks.
const ROOMY: u32 = 64;

/// One network, for sorting.
type Entry = (Country, Asn, u32, u32);

impl AddressBook {
    /// The book of a table: ranges of addresses, from first to last, with their origins, as
    /// `RangeTable::ranges` gives them. IPv6 and ranges of half-known origin are left out.
    pub fn new(ranges: impl IntoIterator<Item = (IpAddr, IpAddr, Origin)>) -> Self {
        let mut entries: Vec<Entry> = ranges.into_iter().filter_map(entry).collect();
        entries.sort_unstable();
        let mut book = Self {
            countries: BTreeMap::new(),
            homes: BTreeMap::new(),
            spans: Vec::with_capacity(entries.len()),
        };
        for entry in entries {
            book.add(entry);
        }
        book.countries.retain(|_, pages| pages.finish());
        for (&country, pages) in &book.countries {
            for page in &pages.ases {
                book.homes.entry(page.asn).or_default().push(country);
            }
        }
        book
    }

    /// The book of the table that comes with the program (see docs/origin.md), read once.
    pub fn embedded() -> &'static Self {
        static BOOK: LazyLock<AddressBook> = LazyLock::new(|| {
            let table = compact::decode(nearside_origin_data::ORIGIN)
                .expect("the embedded table is tested")
                .table;
            AddressBook::new(table.ranges())
        });
        &BOOK
    }

    /// Whether the book has a network in the country.
    pub fn covers(&self, country: Country) -> bool {
        self.countries.contains_key(&country)
    }

    /// The pages of a country, if there are any.
    pub(crate) fn pages(&self, country: Country) -> Option<&CountryPages> {
        self.countries.get(&country)
    }

    /// The countries an AS announces networks in.
    pub(crate) fn countries_of(&self, asn: Asn) -> &[Country] {
        self.homes.get(&asn).map_or(&[], Vec::as_slice)
    }

    /// The networks of a page, as numbers of their first and last addresses.
    pub(crate) fn spans(&self, page: &BlockPage) -> &[(u32, u32)] {
        &self.spans[page.spans.clone()]
    }

    fn add(&mut self, (country, asn, first, last): Entry) {
        let ases = &mut self.countries.entry(country).or_default().ases;
        if ases.last().is_none_or(|page| page.asn != asn) {
            let blocks = Vec::new();
            ases.push(AsPage { asn, blocks });
        }
        let page = ases.last_mut().expect("pushed above if there was none");
        for (first, last) in by_sixteen(first, last).filter(|&(first, last)| is_public(first, last))
        {
            page.add(first, last, self.spans.len());
            self.spans.push((first, last));
        }
    }
}

impl CountryPages {
    /// What an AS announces in the country.
    pub(crate) fn page(&self, asn: Asn) -> Option<&AsPage> {
        let at = self.ases.binary_search_by_key(&asn, |page| page.asn).ok()?;
        Some(&self.ases[at])
    }

    /// The ASes with a page for a /16 between two, by their place in `ases`; one may come twice.
    pub(crate) fn between(&self, first: Block, last: Block) -> &[(Block, usize)] {
        let begin = self.by_block.partition_point(|&(block, _)| block < first);
        let end = self.by_block.partition_point(|&(block, _)| block <= last);
        &self.by_block[begin..end]
    }

    /// Leaves out what has no room, and makes the index; whether anything is left.
    fn finish(&mut self) -> bool {
        let roomy = |page: &BlockPage| page.addresses >= ROOMY;
        if self.ases.iter().any(|page| page.blocks.iter().any(roomy)) {
            for page in &mut self.ases {
                page.blocks.retain(roomy);
            }
        }
        self.ases.retain(|page| !page.blocks.is_empty());
        let ases = self.ases.iter().enumerate();
        self.by_block = ases
            .flat_map(|(at, page)| page.blocks.iter().map(move |page| (page.block, at)))
            .collect();
        self.by_block.sort_unstable();
        !self.by_block.is_empty()
    }
}

impl AsPage {
    /// Notes span number `at`. Spans come in rising order.
    fn add(&mut self, first: u32, last: u32, at: usize) {
        let [a, b, ..] = Ipv4Addr::from_bits(first).octets();
        let block = [a, b];
        if self.blocks.last().is_none_or(|page| page.block != block) {
            self.blocks.push(BlockPage {
                block,
                spans: at..at,
                addresses: 0,
            });
        }
        let page = self.blocks.last_mut().expect("pushed above");
        page.spans.end = at + 1;
        page.addresses += last - first + 1;
    }
}

fn entry((first, last, origin): (IpAddr, IpAddr, Origin)) -> Option<Entry> {
    let (IpAddr::V4(first), IpAddr::V4(last)) = (first, last) else {
        return None;
    };
    let (first, last) = (first.to_bits(), last.to_bits());
    (first <= last).then_some((origin.country?, origin.asn?, first, last))
}

/// A range cut where one /16 ends and the next begins.
fn by_sixteen(first: u32, last: u32) -> impl Iterator<Item = (u32, u32)> {
    (first >> 16..=last >> 16).map(move |block| {
        let begin = block << 16;
        (first.max(begin), last.min(begin | 0xffff))
    })
}

/// Tables of operators may have private networks too; no server of a world is there.
fn is_public(first: u32, last: u32) -> bool {
    let public = |addr| AddrClass::of(Ipv4Addr::from_bits(addr).into()) == AddrClass::Public;
    public(first) && public(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: [u8; 4], last: [u8; 4], asn: u32, country: &str) -> (IpAddr, IpAddr, Origin) {
        let origin = Origin {
            asn: (asn != 0).then_some(Asn(asn)),
            country: country.parse().ok(),
        };
        (first.into(), last.into(), origin)
    }

    fn book() -> AddressBook {
        AddressBook::new([
            range([9, 2, 0, 0], [9, 3, 0, 255], 7, "DE"),
            range([9, 2, 128, 0], [9, 2, 128, 255], 8, "DE"),
            range([8, 1, 0, 0], [8, 1, 255, 255], 7, "DE"),
            range([8, 9, 0, 0], [8, 9, 0, 7], 7, "DE"),
            range([8, 2, 0, 0], [8, 2, 255, 255], 7, "FR"),
            range([8, 3, 0, 0], [8, 3, 255, 255], 0, "FR"),
            range([8, 4, 0, 0], [8, 4, 255, 255], 7, "-"),
            range([8, 5, 0, 0], [8, 5, 0, 3], 7, "MT"),
        ])
    }

    #[test]
    fn ranges_are_cut_at_sixteens_and_gathered_by_country_and_as() {
        let book = book();
        let germany = book.pages("DE".parse().unwrap()).unwrap();
        let asns: Vec<u32> = germany.ases.iter().map(|page| page.asn.0).collect();
        assert_eq!(asns, [7, 8]);
        let page = germany.page(Asn(7)).unwrap();
        let blocks: Vec<Block> = page.blocks.iter().map(|page| page.block).collect();
        assert_eq!(blocks, [[8, 1], [9, 2], [9, 3]]);
        let spans = book.spans(&page.blocks[2]);
        assert_eq!(spans, [(0x0903_0000, 0x0903_00ff)]);
        assert_eq!(
            germany.between([9, 0], [9, 2]),
            [([9, 2], 0), ([9, 2], 1)],
            "both ASes have a part of 9.2.0.0/16"
        );
    }

    #[test]
    fn corners_of_a_few_addresses_count_only_where_there_is_nothing_else() {
        let book = book();
        let germany = book.pages("DE".parse().unwrap()).unwrap();
        assert!(germany.between([8, 9], [8, 9]).is_empty());
        let malta = book.pages("MT".parse().unwrap()).unwrap();
        assert_eq!(malta.ases.len(), 1);
    }

    #[test]
    fn an_as_has_all_countries_it_announces_networks_in() {
        let book = book();
        let countries = book.countries_of(Asn(7)).iter().map(ToString::to_string);
        assert_eq!(countries.collect::<Vec<_>>(), ["DE", "FR", "MT"]);
        assert!(!book.covers("AU".parse().unwrap()));
    }

    #[test]
    fn the_embedded_table_has_tens_of_thousands_of_ases() {
        let book = AddressBook::embedded();
        let states = book.pages("US".parse().unwrap()).unwrap();
        assert!(states.ases.len() > 15_000, "{}", states.ases.len());
    }
}
