//! Cuts a long answer into messages the channel takes.
//!
//! Cuts fall between blocks where they can: before a paragraph, a heading or a code block, then
//! before a list item, then between lines (so a row of a table stays whole), and only inside of a
//! line that is too long for a message of its own between words, then between characters. A code
//! block that is cut is closed in the one message and opened again, with its language, in the
//! next. Nothing but line breaks and spaces at the cuts is lost.

use crate::base::limit;

/// A longer run of fence characters is no fence: closing it again would take too much room.
const FENCE_RUN_MAX: usize = 16;
/// A longer opening line is repeated without what stands behind the fence.
const FENCE_LINE_BYTES_MAX: usize = 80;
/// How many characters of one visible sign are kept together at most.
const SIGN_CHARS_MAX: usize = 32;

/// How long a message may be, in whatever the channel counts.
#[derive(Clone, Copy)]
pub(super) struct Measure<'a> {
    /// The most that a message may cost.
    pub(super) most: usize,
    /// What a text costs: at least its bytes.
    pub(super) cost: &'a dyn Fn(&str) -> usize,
}

impl Measure<'_> {
    fn holds(self, text: &str) -> bool {
        text.len() <= self.most && (self.cost)(text) <= self.most
    }
}

/// `text` in pieces that each fit the measure. An empty text has no piece.
pub(super) fn split_text(text: &str, measure: Measure<'_>) -> Vec<String> {
    let cuts = cuts(text.trim_end(), measure);
    cuts.iter().filter_map(Cut::dressed).collect()
}

/// A code block's fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence<'t> {
    /// The line that opens it, without its end.
    line: &'t str,
    indent: &'t str,
    run: &'t str,
}

impl<'t> Fence<'t> {
    /// The fence that a line opens or closes.
    fn of(line: &'t str) -> Option<Self> {
        let line = line.trim_end();
        let body = line.trim_start();
        let mark = body.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let behind = body.trim_start_matches(mark);
        let run = body.get(..body.len() - behind.len())?;
        let indent = line.get(..line.len() - body.len())?;
        let is_fence = (3..=FENCE_RUN_MAX).contains(&run.len()) && !behind.contains('`');
        is_fence.then_some(Self { line, indent, run })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let body = line.trim();
        let rest = body.strip_prefix(self.run);
        rest.is_some_and(|rest| rest.chars().all(|mark| self.run.starts_with(mark)))
    }

    fn opened_again(self) -> String {
        let short = self.line.len() <= FENCE_LINE_BYTES_MAX;
        let line = if short { self.line.to_owned() } else { self.closed() };
        format!("{line}\n")
    }

    fn closed(self) -> String {
        format!("{}{}", self.indent, self.run)
    }
}

/// One piece of the text as it stands there, and the code blocks that its ends cut.
#[derive(Debug)]
struct Cut<'t> {
    body: &'t str,
    head: Option<Fence<'t>>,
    tail: Option<Fence<'t>>,
}

impl Cut<'_> {
    /// The message that the piece becomes; `None` if nothing is to be seen in it.
    fn dressed(&self) -> Option<String> {
        let body = match self.head {
            Some(_) => self.body,
            None => without_blank_lines(self.body),
        };
        let body = match self.tail {
            Some(_) => body.strip_suffix('\n').unwrap_or(body),
            None => body.trim_end(),
        };
        if body.trim().is_empty() {
            return None;
        }
        let head = self.head.map(Fence::opened_again).unwrap_or_default();
        let tail = self.tail.map(|fence| format!("\n{}", fence.closed())).unwrap_or_default();
        Some(format!("{head}{body}{tail}"))
    }
}

fn without_blank_lines(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, behind)) = rest.split_once('\n') {
        if !line.trim().is_empty() {
            break;
        }
        rest = behind;
    }
    rest
}

/// How good a place for a cut is; a later one is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Beside the first or last line of a code block.
    FenceEdge,
    /// Inside of a code block or a table.
    Inside,
    Line,
    ListItem,
    Block,
}

/// The pieces of `text`; put together they are the text.
fn cuts<'t>(text: &'t str, measure: Measure<'_>) -> Vec<Cut<'t>> {
    let mut cuts = Vec::new();
    let mut rest = text;
    let mut head = None;
    while !rest.is_empty() {
        let opening: String = head.map(Fence::opened_again).unwrap_or_default();
        if measure.holds(&format!("{opening}{rest}")) {
            cuts.push(Cut { body: rest, head, tail: None });
            break;
        }
        let length = next_cut(rest, head, &opening, measure);
        let (body, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let tail = fence_after(body, head);
        cuts.push(Cut { body, head, tail });
        rest = behind;
        head = tail;
    }
    cuts
}

/// The code block that is open behind `body`.
fn fence_after<'t>(body: &'t str, mut open: Option<Fence<'t>>) -> Option<Fence<'t>> {
    for line in body.split_inclusive('\n') {
        open = behind_line(line, open);
    }
    open
}

fn behind_line<'t>(line: &'t str, open: Option<Fence<'t>>) -> Option<Fence<'t>> {
    match open {
        Some(fence) if fence.is_closed_by(line) => None,
        Some(fence) => Some(fence),
        None => Fence::of(line),
    }
}

/// Where the first piece of `rest` ends, in bytes; more than nothing.
fn next_cut<'t>(
    rest: &'t str,
    head: Option<Fence<'t>>,
    opening: &str,
    measure: Measure<'_>,
) -> usize {
    let window = window(rest, opening, measure);
    let half = window / 2;
    let mut borders: Vec<(usize, Place)> = Vec::new();
    let mut open = head;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        let behind = at + line.len();
        let was_open = open;
        open = behind_line(line, open);
        if behind > window {
            break;
        }
        let next = rest.get(behind..).and_then(|behind| behind.lines().next()).unwrap_or("");
        borders.push((behind, place(line, next, was_open, open)));
        at = behind;
    }
    let best = borders
        .iter()
        .filter(|(border, _)| *border >= half)
        .max_by_key(|(border, place)| (*place, *border))
        .map(|(border, _)| *border);
    let last = borders.last().map(|(border, _)| *border);
    let next_line = rest.get(last.unwrap_or(0)..).and_then(|rest| rest.lines().next());
    let has_room_elsewhere =
        next_line.is_some_and(|line| measure.holds(&format!("{opening}{line}")));
    match (best, last) {
        (Some(best), _) => best,
        (None, Some(last)) if has_room_elsewhere => last,
        _ => inside_line(rest, window),
    }
}

/// How much of `rest` a message holds, with room to open and close a code block.
fn window(rest: &str, opening: &str, measure: Measure<'_>) -> usize {
    let closing = format!("\n{}", "`".repeat(FENCE_RUN_MAX));
    let holds = |length: usize| {
        let prefix = limit::prefix_bytes(rest, length);
        measure.holds(&format!("{opening}{prefix}{closing}"))
    };
    let (mut fits, mut beyond) = (0, rest.len().min(measure.most) + 1);
    while fits + 1 < beyond {
        let middle = usize::midpoint(fits, beyond);
        if holds(middle) {
            fits = middle;
        } else {
            beyond = middle;
        }
    }
    limit::prefix_bytes(rest, fits).len()
}

/// What kind of border is between two lines.
fn place(line: &str, next: &str, was: Option<Fence<'_>>, is: Option<Fence<'_>>) -> Place {
    let next_body = next.trim_start();
    match (was, is) {
        (None, Some(_)) => Place::FenceEdge,
        (Some(_), Some(fence)) if fence.is_closed_by(next) => Place::FenceEdge,
        (Some(_), Some(_)) => Place::Inside,
        (Some(_), None) => Place::Block,
        (None, None) => {
            let starts_block = next_body.starts_with('#') || Fence::of(next).is_some();
            if line.trim().is_empty() || next_body.is_empty() || starts_block {
                Place::Block
            } else if line.trim_start().starts_with('|') && next_body.starts_with('|') {
                Place::Inside
            } else if is_list_item(next_body) {
                Place::ListItem
            } else {
                Place::Line
            }
        }
    }
}

fn is_list_item(body: &str) -> bool {
    let is_bullet = ["- ", "* ", "+ ", "• "].iter().any(|bullet| body.starts_with(bullet));
    let number = body.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered =
        number.len() < body.len() && [". ", ") ", "、"].iter().any(|mark| number.starts_with(mark));
    is_bullet || is_numbered
}

/// The last place between words in the second half of the window, else between characters.
fn inside_line(rest: &str, window: usize) -> usize {
    let shown = limit::prefix_bytes(rest, window);
    let word = shown.rfind(' ').map(|at| at + 1).filter(|at| *at >= window / 2);
    let cut = word.unwrap_or_else(|| between_signs(rest, shown.len()));
    let first = rest.chars().next().map_or(1, char::len_utf8);
    cut.max(first)
}

/// The place at or before `at` that does not split what people see as one sign: a letter and its
/// accents, an emoji and what changes it, the two letters of a flag.
fn between_signs(text: &str, at: usize) -> usize {
    let mut cut = at;
    for _ in 0..SIGN_CHARS_MAX {
        let (before, behind) = text.split_at_checked(cut).unwrap_or((text, ""));
        let (Some(last), Some(next)) = (before.chars().next_back(), behind.chars().next()) else {
            return cut;
        };
        let flags = before.chars().rev().take_while(|letter| is_flag_letter(*letter)).count();
        let splits_flag = is_flag_letter(next) && flags % 2 == 1;
        if !(joins(next) || last == ZERO_WIDTH_JOINER || splits_flag) {
            return cut;
        }
        cut -= last.len_utf8();
    }
    at
}

const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// Whether a character is shown together with the one before it.
fn joins(letter: char) -> bool {
    matches!(letter,
        ZERO_WIDTH_JOINER
        | '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}')
}

fn is_flag_letter(letter: char) -> bool {
    matches!(letter, '\u{1f1e6}'..='\u{1f1ff}')
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
