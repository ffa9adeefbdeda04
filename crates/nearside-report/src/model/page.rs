use super::{Part, Report};

/// Many reports in one document, with a table of contents.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// What the document is about.
    pub title: String,
    /// What a reader should know first: a summary, how to read the tables.
    pub lead: Vec<Part>,
    /// In reading order.
    pub chapters: Vec<Chapter>,
    /// The last line: who made it, when, from which commit. Nothing is added to it, so that the same
    /// reports give the same page.
    pub footer: String,
    /// Whether the reports' own files are to be linked.
    pub data: Data,
}

/// Reports that belong together: those of one paper.
#[derive(Debug, Clone, PartialEq)]
pub struct Chapter {
    /// `Armitage 2008: clusters by origin AS`.
    pub title: String,
    /// What the paper claims and how far it holds.
    pub lead: Vec<Part>,
    /// In reading order.
    pub reports: Vec<Report>,
}

/// Where the numbers behind a page are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// In the page's own folder, under the names of [`files::of`](crate::files::of).
    Beside,
    /// Nowhere: the page stands alone.
    Absent,
}
