//! Where code and tables stand in a text: what must not be edited like prose.

use std::ops::Range;

use comrak::nodes::NodeValue;
use comrak::{Arena, Options, parse_document};

/// A table by its place.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) range: Range<usize>,
    /// Inside of a list or a quote.
    pub(super) is_nested: bool,
}

/// Code and tables of a text, in order, in bytes; they hold whole lines.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) code: Vec<Range<usize>>,
    pub(super) tables: Vec<Table>,
}

impl Outline {
    /// Reads a text whose line ends are all `\n`.
    pub(super) fn of(text: &str) -> Self {
        let mut outline = Self::default();
        // Most answers have neither, and reading them is the greater part of the work.
        let may_have_code = text.contains("```") || text.contains("~~~") || text.contains("    ");
        if !may_have_code && !text.contains('\t') && !text.contains('|') {
            return outline;
        }
        let mut options = Options::default();
        options.extension.table = true;
        let arena = Arena::new();
        let root = parse_document(&arena, text, &options);
        let lines = Lines::of(text);
        // A loop and no recursion: quotes can be nested as deep as a text is long.
        for node in root.descendants() {
            let data = node.data.borrow();
            let range = || lines.range(data.sourcepos.start.line, data.sourcepos.end.line);
            match &data.value {
                NodeValue::CodeBlock(_) => outline.code.push(range()),
                NodeValue::Table(_) => {
                    let is_nested = node.parent().is_none_or(|parent| !parent.same_node(root));
                    outline.tables.push(Table { range: range(), is_nested });
                }
                _ => {}
            }
        }
        outline
    }

    /// Code (`true`) and tables within a part of the text, in order.
    pub(super) fn fixed_within(&self, part: &Range<usize>) -> Vec<(Range<usize>, bool)> {
        let code = self.code.iter().map(|range| (range.clone(), true));
        let tables = self.tables.iter().map(|table| (table.range.clone(), false));
        let is_within = |range: &Range<usize>| part.start <= range.start && range.end <= part.end;
        let mut fixed: Vec<_> = code.chain(tables).filter(|(range, _)| is_within(range)).collect();
        fixed.sort_by_key(|(range, _)| range.start);
        // What does not follow in order would be said twice.
        let mut end = part.start;
        fixed.retain(|(range, _)| {
            let follows = range.start >= end && range.end > range.start;
            end = if follows { range.end } else { end };
            follows
        });
        fixed
    }
}

/// Where lines begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(ends).chain([text.len()]).collect())
    }

    /// From the beginning of a line to the end of another, both counted from one.
    fn range(&self, first: usize, last: usize) -> Range<usize> {
        let end = self.0.last().copied().unwrap_or(0);
        let start = self.0.get(first.saturating_sub(1)).copied().unwrap_or(end);
        start..self.0.get(last).copied().unwrap_or(end).max(start)
    }
}
